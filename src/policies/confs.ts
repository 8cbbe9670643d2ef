// The types of checked confs, as their schemas infer them: what passed a check is read by its fields from here on.
import type { z } from 'zod';
import type { RuleOf } from './policy-definition.ts';
import type { meshAccessLogSpec } from './mesh-access-log/spec.ts';
import type { meshCircuitBreakerSpec } from './mesh-circuit-breaker/spec.ts';
import type { meshFaultInjectionSpec } from './mesh-fault-injection/spec.ts';
import type { meshHealthCheckSpec } from './mesh-health-check/spec.ts';
import type { meshLoadBalancingStrategySpec } from './mesh-load-balancing-strategy/spec.ts';
import type { meshMetricSpec } from './mesh-metric/spec.ts';
import type { meshPassthroughSpec } from './mesh-passthrough/spec.ts';
import type { meshRateLimitSpec } from './mesh-rate-limit/spec.ts';
import type { meshRetrySpec } from './mesh-retry/spec.ts';
import type { meshTimeoutSpec } from './mesh-timeout/spec.ts';
import type { meshTLSSpec } from './mesh-tls/spec.ts';
import type { meshTraceSpec } from './mesh-trace/spec.ts';
import type { meshTrafficPermissionSpec } from './mesh-traffic-permission/spec.ts';

/** The `default` of the items of a section. */
type ConfIn<S extends z.ZodType, K extends keyof z.infer<S>> =
  NonNullable<z.infer<S>[K]> extends readonly { default?: infer C }[] ? NonNullable<C> : never;

/** The confs of outbounds and inbounds, by the type of their policies. Each section of one type has the same. */
type SectionConfs = {
  readonly MeshAccessLog: ConfIn<typeof meshAccessLogSpec, 'to'>;
  readonly MeshCircuitBreaker: ConfIn<typeof meshCircuitBreakerSpec, 'to'>;
  readonly MeshFaultInjection: ConfIn<typeof meshFaultInjectionSpec, 'rules'>;
  readonly MeshHealthCheck: ConfIn<typeof meshHealthCheckSpec, 'to'>;
  readonly MeshLoadBalancingStrategy: ConfIn<typeof meshLoadBalancingStrategySpec, 'to'>;
  readonly MeshRateLimit: ConfIn<typeof meshRateLimitSpec, 'rules'>;
  readonly MeshRetry: ConfIn<typeof meshRetrySpec, 'to'>;
  readonly MeshTLS: ConfIn<typeof meshTLSSpec, 'rules'>;
  readonly MeshTrafficPermission: ConfIn<typeof meshTrafficPermissionSpec, 'rules'>;
  readonly MeshTimeout: ConfIn<typeof meshTimeoutSpec, 'to'>;
};

/** The confs of whole proxies. */
export type ProxyConfs = {
  readonly MeshMetric: NonNullable<z.infer<typeof meshMetricSpec>['default']>;
  readonly MeshPassthrough: NonNullable<z.infer<typeof meshPassthroughSpec>['default']>;
  readonly MeshTrace: z.infer<typeof meshTraceSpec>['default'];
};

/** The confs that are in force merged. */
export type Confs = SectionConfs & ProxyConfs;

/** The usable conf in force of a type. Where no policy is, it has no field. */
export type Conf<T extends keyof Confs> = Partial<Confs[T]>;

/** A rule of an inbound of this type. */
export type ConfRule<T extends keyof Confs> = RuleOf<Conf<T>>;
