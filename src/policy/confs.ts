// The types of checked confs, as their schemas infer them: what passed a check is read by its fields from here on.
import type { z } from 'zod';
import type { meshAccessLogSpec } from '../resource/schema/mesh-access-log.ts';
import type { meshCircuitBreakerSpec } from '../resource/schema/mesh-circuit-breaker.ts';
import type { meshFaultInjectionSpec } from '../resource/schema/mesh-fault-injection.ts';
import type { meshHealthCheckSpec } from '../resource/schema/mesh-health-check.ts';
import type { meshLoadBalancingStrategySpec } from '../resource/schema/mesh-load-balancing-strategy.ts';
import type { meshRateLimitSpec } from '../resource/schema/mesh-rate-limit.ts';
import type { meshRetrySpec } from '../resource/schema/mesh-retry.ts';
import type { meshTimeoutSpec } from '../resource/schema/mesh-timeout.ts';
import type { meshTLSSpec } from '../resource/schema/mesh-tls.ts';
import type { meshTrafficPermissionSpec } from '../resource/schema/mesh-traffic-permission.ts';

/** The `default` of the items of a section. */
type ConfIn<S extends z.ZodType, K extends keyof z.infer<S>> =
  NonNullable<z.infer<S>[K]> extends readonly { default?: infer C }[] ? NonNullable<C> : never;

/** The confs that are in force merged, by the type of their policies. Each section of one type has the same. */
export type Confs = {
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

/** The conf in force of a type. Where no policy is, it has no field. */
export type Conf<T extends keyof Confs> = Partial<Confs[T]>;
