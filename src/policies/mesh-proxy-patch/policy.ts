// MeshProxyPatch: changes of the resources of a proxy, after all policies (xds 3.3).
import { checkProxyPolicy } from '../../schema/policy-frame.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { meshProxyPatchSpec } from './spec.ts';

export const meshProxyPatch: PolicyDefinition<never> = {
  schema: meshProxyPatchSpec,
  check: checkProxyPolicy,
};
