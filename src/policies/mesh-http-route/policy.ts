// MeshHTTPRoute: where the requests of an outbound go (policies 7).
import type { PolicyDefinition } from '../policy-definition.ts';
import { checkMeshHTTPRoute, meshHTTPRouteSpec } from './spec.ts';

export const meshHTTPRoute: PolicyDefinition<never> = {
  schema: meshHTTPRouteSpec,
  check: checkMeshHTTPRoute,
};
