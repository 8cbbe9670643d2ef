// MeshAccessLog: a record for each request or connection (policies 2.4).
import type { Conf } from '../confs.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { checkMeshAccessLog, meshAccessLogSpec } from './spec.ts';

export const meshAccessLog: PolicyDefinition<Conf<'MeshAccessLog'>> = {
  schema: meshAccessLogSpec,
  check: checkMeshAccessLog,
};
