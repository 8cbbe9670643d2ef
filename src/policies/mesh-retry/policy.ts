// MeshRetry: what a client tries again (policies 2.2).
import type { Conf } from '../confs.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { connectAttempts, routeRetries } from './envoy.ts';
import { checkMeshRetry, meshRetrySpec } from './spec.ts';

export const meshRetry: PolicyDefinition<Conf<'MeshRetry'>> = {
  schema: meshRetrySpec,
  check: checkMeshRetry,
  routeAction: routeRetries,
  tcpProxy: connectAttempts,
};
