import type { PolicyDefinition } from '../../../../src/policies/policy-definition.ts';
import { serverHeader } from './envoy.ts';
import { checkMeshServerHeader, meshServerHeaderSpec, type ServerHeader } from './spec.ts';

export const meshServerHeader: PolicyDefinition<ServerHeader> = {
  schema: meshServerHeaderSpec,
  check: checkMeshServerHeader,
  connectionManager: serverHeader,
};
