// Every policy type, in the order in which they are applied. A row is all that a new type needs outside of its folder.
import { meshAccessLog } from './mesh-access-log/policy.ts';
import { meshCircuitBreaker } from './mesh-circuit-breaker/policy.ts';
import { meshFaultInjection } from './mesh-fault-injection/policy.ts';
import { meshHealthCheck } from './mesh-health-check/policy.ts';
import { meshHTTPRoute } from './mesh-http-route/policy.ts';
import { meshLoadBalancingStrategy } from './mesh-load-balancing-strategy/policy.ts';
import { meshMetric } from './mesh-metric/policy.ts';
import { meshPassthrough } from './mesh-passthrough/policy.ts';
import { meshProxyPatch } from './mesh-proxy-patch/policy.ts';
import { meshRateLimit } from './mesh-rate-limit/policy.ts';
import { meshRetry } from './mesh-retry/policy.ts';
import { meshTCPRoute } from './mesh-tcp-route/policy.ts';
import { meshTimeout } from './mesh-timeout/policy.ts';
import { meshTLS } from './mesh-tls/policy.ts';
import { meshTrace } from './mesh-trace/policy.ts';
import { meshTrafficPermission } from './mesh-traffic-permission/policy.ts';

export const policyDefinitions = {
  MeshHTTPRoute: meshHTTPRoute,
  MeshTCPRoute: meshTCPRoute,
  MeshTLS: meshTLS,
  MeshLoadBalancingStrategy: meshLoadBalancingStrategy,
  MeshPassthrough: meshPassthrough,
  MeshAccessLog: meshAccessLog,
  MeshTrace: meshTrace,
  MeshFaultInjection: meshFaultInjection,
  MeshRateLimit: meshRateLimit,
  MeshTimeout: meshTimeout,
  MeshTrafficPermission: meshTrafficPermission,
  MeshHealthCheck: meshHealthCheck,
  MeshCircuitBreaker: meshCircuitBreaker,
  MeshRetry: meshRetry,
  MeshMetric: meshMetric,
  MeshProxyPatch: meshProxyPatch,
};
