// MeshHealthCheck: a client asks the endpoints of a service whether they answer (policies 2.6).
import type { Conf } from '../confs.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { healthChecks } from './envoy.ts';
import { checkMeshHealthCheck, meshHealthCheckSpec } from './spec.ts';

export const meshHealthCheck: PolicyDefinition<Conf<'MeshHealthCheck'>> = {
  schema: meshHealthCheckSpec,
  check: checkMeshHealthCheck,
  cluster: healthChecks,
};
