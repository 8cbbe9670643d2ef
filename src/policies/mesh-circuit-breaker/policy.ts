// MeshCircuitBreaker: limits of connections, and endpoints that are taken out for a time (policies 2.6).
import type { Conf } from '../confs.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { circuitBreakers } from './envoy.ts';
import { checkMeshCircuitBreaker, meshCircuitBreakerSpec } from './spec.ts';

export const meshCircuitBreaker: PolicyDefinition<Conf<'MeshCircuitBreaker'>> = {
  schema: meshCircuitBreakerSpec,
  check: checkMeshCircuitBreaker,
  cluster: circuitBreakers,
};
