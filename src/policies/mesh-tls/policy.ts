// MeshTLS: which TLS an inbound takes.
import type { Conf } from '../confs.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { checkMeshTLS, meshTLSSpec } from './spec.ts';

export const meshTLS: PolicyDefinition<Conf<'MeshTLS'>> = {
  schema: meshTLSSpec,
  check: checkMeshTLS,
};
