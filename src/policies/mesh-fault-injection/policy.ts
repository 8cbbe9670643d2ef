// MeshFaultInjection: faults for the requests of an inbound (policies 2.6).
import type { Conf } from '../confs.ts';
import type { PolicyDefinition } from '../policy-definition.ts';
import { faultFilters } from './envoy.ts';
import { checkMeshFaultInjection, meshFaultInjectionSpec } from './spec.ts';

export const meshFaultInjection: PolicyDefinition<Conf<'MeshFaultInjection'>> = {
  schema: meshFaultInjectionSpec,
  check: checkMeshFaultInjection,
  httpFilters: faultFilters,
};
