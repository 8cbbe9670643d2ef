// Every type whose spec is JSON: its schema, and the checks that need more than one object. Data; check-spec.ts asks it.
import { z } from 'zod';
import type { Violation } from '../../base/errors.ts';
import type { JsonObject } from '../types.ts';
import type { Findings } from './findings.ts';
import { hostnameGeneratorSpec } from './hostname-generator.ts';
import { checkMeshAccessLog, meshAccessLogSpec } from './mesh-access-log.ts';
import { checkMeshCircuitBreaker, reportMeshCircuitBreaker, meshCircuitBreakerSpec } from './mesh-circuit-breaker.ts';
import { countsInExternalService, meshExternalServiceSpec } from './mesh-external-service.ts';
import { checkMeshFaultInjection, meshFaultInjectionSpec } from './mesh-fault-injection.ts';
import { checkMeshHealthCheck, meshHealthCheckSpec } from './mesh-health-check.ts';
import { checkMeshHTTPRoute, meshHTTPRouteSpec } from './mesh-http-route.ts';
import { checkMeshLoadBalancingStrategy, meshLoadBalancingStrategySpec } from './mesh-load-balancing-strategy.ts';
import { meshMultiZoneServiceSpec } from './mesh-multi-zone-service.ts';
import { checkMeshRateLimit, meshRateLimitSpec } from './mesh-rate-limit.ts';
import { checkMeshRetry, reportMeshRetry, meshRetrySpec } from './mesh-retry.ts';
import { meshServiceSpec } from './mesh-service.ts';
import { meshTCPRouteSpec } from './mesh-tcp-route.ts';
import { checkMeshTimeout, meshTimeoutSpec } from './mesh-timeout.ts';
import { checkMeshTrafficPermission, meshTrafficPermissionSpec } from './mesh-traffic-permission.ts';
import { meshZoneAddressSpec } from './mesh-zone-address.ts';
import type { PolicyDocument } from './policy-frame.ts';
import {
  checkMeshTLS,
  checkProxyPolicy,
  meshMetricSpec,
  meshPassthroughSpec,
  meshProxyPatchSpec,
  meshTLSSpec,
  meshTraceSpec,
} from './proxy-policies.ts';
import { checkRouteFrame } from './route-frame.ts';

export type SpecDefinition = {
  /** Shape and values; rules that hang on its objects run with it. */
  readonly schema: z.ZodType;
  /** What concerns the document as a whole. */
  readonly check?: (spec: JsonObject, document: PolicyDocument, findings: Findings) => void;
  /** How a violation is reported, if not at the place where it is. */
  readonly reported?: (violation: Violation) => Violation;
  /** Whether a violation counts for this spec. */
  readonly counts?: (field: string, spec: JsonObject) => boolean;
};

/** Kept as they are: what they mean is not known here. */
const open: SpecDefinition = { schema: z.looseObject({}) };

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
  ['MeshCircuitBreaker', { schema: meshCircuitBreakerSpec, check: checkMeshCircuitBreaker, reported: reportMeshCircuitBreaker }],
  ['MeshRetry', { schema: meshRetrySpec, check: checkMeshRetry, reported: reportMeshRetry }],
  ['MeshMetric', { schema: meshMetricSpec, check: checkProxyPolicy }],
  ['MeshProxyPatch', { schema: meshProxyPatchSpec, check: checkProxyPolicy }],
  ['MeshService', { schema: meshServiceSpec }],
  ['MeshExternalService', { schema: meshExternalServiceSpec, counts: countsInExternalService }],
  ['MeshMultiZoneService', { schema: meshMultiZoneServiceSpec }],
  ['HostnameGenerator', { schema: hostnameGeneratorSpec }],
  ['MeshZoneAddress', { schema: meshZoneAddressSpec }],
  ['MeshIdentity', open],
  ['MeshTrust', open],
  ['MeshOpenTelemetryBackend', open],
  ['Workload', open],
]);
