// MeshTrafficPermission: which clients may call an inbound (policies 6).
import type { Conf } from '../confs.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { checkMeshTrafficPermission, meshTrafficPermissionSpec } from './spec.ts';

export const meshTrafficPermission: PolicyDefinition<Conf<'MeshTrafficPermission'>> = {
  schema: meshTrafficPermissionSpec,
  check: checkMeshTrafficPermission,
};
