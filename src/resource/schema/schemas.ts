// Every type whose spec is JSON: its schema, and the checks that need more than one object. Data; check-spec.ts asks it.
import type { z } from 'zod';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { hostnameGeneratorSpec } from './hostname-generator.ts';
import { checkMeshAccessLog, meshAccessLogSpec } from './mesh-access-log.ts';
import { checkMeshCircuitBreaker, meshCircuitBreakerSpec } from './mesh-circuit-breaker.ts';
import { countsInExternalService, meshExternalServiceSpec } from './mesh-external-service.ts';
import { checkMeshFaultInjection, meshFaultInjectionSpec } from './mesh-fault-injection.ts';
import { checkMeshHealthCheck, meshHealthCheckSpec } from './mesh-health-check.ts';
import { checkMeshHTTPRoute, meshHTTPRouteSpec } from './mesh-http-route.ts';
import { checkMeshLoadBalancingStrategy, meshLoadBalancingStrategySpec } from './mesh-load-balancing-strategy.ts';
import { meshIdentitySpec } from './mesh-identity.ts';
import { meshMetricSpec } from './mesh-metric.ts';
import { meshMultiZoneServiceSpec } from './mesh-multi-zone-service.ts';
import { meshOpenTelemetryBackendSpec } from './mesh-open-telemetry-backend.ts';
import { meshPassthroughSpec } from './mesh-passthrough.ts';
import { meshProxyPatchSpec } from './mesh-proxy-patch.ts';
import { checkMeshRateLimit, meshRateLimitSpec } from './mesh-rate-limit.ts';
import { checkMeshRetry, meshRetrySpec } from './mesh-retry.ts';
import { meshServiceSpec } from './mesh-service.ts';
import { meshTCPRouteSpec } from './mesh-tcp-route.ts';
import { checkMeshTimeout, meshTimeoutSpec } from './mesh-timeout.ts';
import { checkMeshTLS, meshTLSSpec } from './mesh-tls.ts';
import { meshTraceSpec } from './mesh-trace.ts';
import { checkMeshTrafficPermission, meshTrafficPermissionSpec } from './mesh-traffic-permission.ts';
import { meshTrustSpec } from './mesh-trust.ts';
import { meshZoneAddressSpec } from './mesh-zone-address.ts';
import { checkProxyPolicy, type PolicyDocument } from './policy-frame.ts';
import { checkRouteFrame } from './route-frame.ts';
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
