// MeshPassthrough: where a redirected proxy lets its application go outside of the mesh (xds 3.5).
import { checkProxyPolicy } from '../../schema/policy-frame.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { meshPassthroughSpec } from './spec.ts';

export const meshPassthrough: PolicyDefinition<never> = {
  schema: meshPassthroughSpec,
  check: checkProxyPolicy,
};
