// MeshLoadBalancingStrategy: which endpoint serves a request (policies 2.3, 5).
import type { Conf } from '../confs.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { hashPolicyFields, loadBalancer } from './envoy.ts';
import { checkMeshLoadBalancingStrategy, meshLoadBalancingStrategySpec } from './spec.ts';

export const meshLoadBalancingStrategy: PolicyDefinition<Conf<'MeshLoadBalancingStrategy'>> = {
  schema: meshLoadBalancingStrategySpec,
  check: checkMeshLoadBalancingStrategy,
  cluster: loadBalancer,
  routeAction: hashPolicyFields,
};
