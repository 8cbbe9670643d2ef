// Every type whose spec is JSON: its schema, and the checks that need more than one object. Data; check-spec.ts asks it.
import { policyDefinitions } from '../policies/registry.ts';
import type { SpecDefinition } from '../schema/spec-definition.ts';
import { hostnameGeneratorSpec } from './hostname-generator.ts';
import { countsInExternalService, meshExternalServiceSpec } from './mesh-external-service.ts';
import { meshIdentitySpec } from './mesh-identity.ts';
import { meshMultiZoneServiceSpec } from './mesh-multi-zone-service.ts';
import { meshOpenTelemetryBackendSpec } from './mesh-open-telemetry-backend.ts';
import { meshServiceSpec } from './mesh-service.ts';
import { meshTrustSpec } from './mesh-trust.ts';
import { meshZoneAddressSpec } from './mesh-zone-address.ts';
import { workloadSpec } from './workload.ts';

export const specDefinitions: ReadonlyMap<string, SpecDefinition> = new Map<string, SpecDefinition>([
  ...Object.entries(policyDefinitions),
  ['MeshService', { schema: meshServiceSpec }],
  ['MeshExternalService', { schema: meshExternalServiceSpec, counts: countsInExternalService }],
  ['MeshMultiZoneService', { schema: meshMultiZoneServiceSpec }],
  ['HostnameGenerator', { schema: hostnameGeneratorSpec }],
  ['MeshZoneAddress', { schema: meshZoneAddressSpec }],
  ['MeshIdentity', { schema: meshIdentitySpec }],
  ['MeshTrust', { schema: meshTrustSpec }],
  ['MeshOpenTelemetryBackend', { schema: meshOpenTelemetryBackendSpec }],
  ['Workload', { schema: workloadSpec }],
]);
