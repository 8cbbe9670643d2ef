// Every type whose spec is JSON: its schema, and the checks that need more than one object. Data; check-spec.ts asks it.
import type { z } from 'zod';
import type { JsonObject } from '../resource/types.ts';
import type { Findings } from '../schema/findings.ts';
import { hostnameGeneratorSpec } from './hostname-generator.ts';
import { checkMeshAccessLog, meshAccessLogSpec } from '../policies/mesh-access-log/spec.ts';
import { checkMeshCircuitBreaker, meshCircuitBreakerSpec } from '../policies/mesh-circuit-breaker/spec.ts';
import { countsInExternalService, meshExternalServiceSpec } from './mesh-external-service.ts';
import { checkMeshFaultInjection, meshFaultInjectionSpec } from '../policies/mesh-fault-injection/spec.ts';
import { checkMeshHealthCheck, meshHealthCheckSpec } from '../policies/mesh-health-check/spec.ts';
import { checkMeshHTTPRoute, meshHTTPRouteSpec } from '../policies/mesh-http-route/spec.ts';
import { checkMeshLoadBalancingStrategy, meshLoadBalancingStrategySpec } from '../policies/mesh-load-balancing-strategy/spec.ts';
import { meshIdentitySpec } from './mesh-identity.ts';
import { meshMetricSpec } from '../policies/mesh-metric/spec.ts';
import { meshMultiZoneServiceSpec } from './mesh-multi-zone-service.ts';
import { meshOpenTelemetryBackendSpec } from './mesh-open-telemetry-backend.ts';
import { meshPassthroughSpec } from '../policies/mesh-passthrough/spec.ts';
import { meshProxyPatchSpec } from '../policies/mesh-proxy-patch/spec.ts';
import { checkMeshRateLimit, meshRateLimitSpec } from '../policies/mesh-rate-limit/spec.ts';
import { checkMeshRetry, meshRetrySpec } from '../policies/mesh-retry/spec.ts';
import { meshServiceSpec } from './mesh-service.ts';
import { meshTCPRouteSpec } from '../policies/mesh-tcp-route/spec.ts';
import { checkMeshTimeout, meshTimeoutSpec } from '../policies/mesh-timeout/spec.ts';
import { checkMeshTLS, meshTLSSpec } from '../policies/mesh-tls/spec.ts';
import { meshTraceSpec } from '../policies/mesh-trace/spec.ts';
import { checkMeshTrafficPermission, meshTrafficPermissionSpec } from '../policies/mesh-traffic-permission/spec.ts';
import { meshTrustSpec } from './mesh-trust.ts';
import { meshZoneAddressSpec } from './mesh-zone-address.ts';
import { checkProxyPolicy, type PolicyDocument } from '../schema/policy-frame.ts';
import { checkRouteFrame } from '../schema/route-frame.ts';
import { workloadSpec } from './workload.ts';

export type SpecDefinition = {
  /** Shape and values; rules that hang on its objects run with it. */
  readonly schema: z.ZodType;
  /** The check of the document as a whole. */
  readonly check?: (spec: JsonObject, document: PolicyDocument, findings: Findings) => void;
  /** Whether a violation counts for this spec. */
  readonly counts?: (field: string, spec: JsonObject) => boolean;
};

export const specDefinitions: ReadonlyMap<string, SpecDefinition> = new Map<string, SpecDefinition>([
  ['MeshHTTPRoute', { schema: meshHTTPRouteSpec, check: checkMeshHTTPRoute }],
  ['MeshTCPRoute', { schema: meshTCPRouteSpec, check: checkRouteFrame }],
  ['MeshTLS', { schema: meshTLSSpec, check: checkMeshTLS }],
  ['MeshLoadBalancingStrategy', { schema: meshLoadBalancingStrategySpec, check: checkMeshLoadBalancingStrategy }],
  ['MeshPassthrough', { schema: meshPassthroughSpec, check: checkProxyPolicy }],
  ['MeshAccessLog', { schema: meshAccessLogSpec, check: checkMeshAccessLog }],
  ['MeshTrace', { schema: meshTraceSpec, check: checkProxyPolicy }],
  ['MeshFaultInjection', { schema: meshFaultInjectionSpec, check: checkMeshFaultInjection }],
  ['MeshRateLimit', { schema: meshRateLimitSpec, check: checkMeshRateLimit }],
  ['MeshTimeout', { schema: meshTimeoutSpec, check: checkMeshTimeout }],
  ['MeshTrafficPermission', { schema: meshTrafficPermissionSpec, check: checkMeshTrafficPermission }],
  ['MeshHealthCheck', { schema: meshHealthCheckSpec, check: checkMeshHealthCheck }],
  ['MeshCircuitBreaker', { schema: meshCircuitBreakerSpec, check: checkMeshCircuitBreaker }],
  ['MeshRetry', { schema: meshRetrySpec, check: checkMeshRetry }],
  ['MeshMetric', { schema: meshMetricSpec, check: checkProxyPolicy }],
  ['MeshProxyPatch', { schema: meshProxyPatchSpec, check: checkProxyPolicy }],
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
