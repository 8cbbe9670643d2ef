// MeshTCPRoute: where the connections of an outbound go (policies 7).
import { checkRouteFrame } from '../../schema/route-frame.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { meshTCPRouteSpec } from './spec.ts';

export const meshTCPRoute: PolicyDefinition<never> = {
  schema: meshTCPRouteSpec,
  check: checkRouteFrame,
};
