// MeshRateLimit: how many requests or connections an inbound takes in a time (policies 2.6).
import type { Conf } from '../confs.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { connectionLimit, rateLimitFilter, requestLimit } from './envoy.ts';
import { checkMeshRateLimit, meshRateLimitSpec } from './spec.ts';

export const meshRateLimit: PolicyDefinition<Conf<'MeshRateLimit'>> = {
  schema: meshRateLimitSpec,
  check: checkMeshRateLimit,
  inboundRoute: requestLimit,
  routeFilter: rateLimitFilter,
  networkFilters: connectionLimit,
  byClient: new Set(['local.http']),
};
