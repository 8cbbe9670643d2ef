// The options of the REST API, and the context that the API passes to the files that register routes.
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import type { FairQueue } from '../base/fair-queue.ts';
import type { Logger } from '../base/log.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { Access, Callers } from '../http/access.ts';
import type { CheckOffThread } from '../writes/off-thread-checker.ts';
import type { AuditLog } from '../writes/audit-log.ts';
import type { AdviceOn } from '../writes/stored-advice.ts';
import type { MembershipChangeOf } from '../writes/membership-change.ts';
import type { FollowRollout } from '../writes/await-zones.ts';
import type { Timeouts } from '../http/http-server.ts';
import type { TokenRoute } from '../token/token-routes.ts';
import type { RateLimit } from '../http/rate-limit.ts';
import type { ProxyAdmin } from './proxy-admin-routes.ts';
import type { InsightsKept, ProxyInsights } from '../zone-status/proxy-insights.ts';
import type { LagOf } from '../zone-status/zone-sync.ts';
import type { WriteRules } from '../writes/write-checks.ts';
import type { Yaml } from '../http/yaml.ts';
import type { ResourceService, ServiceOptions } from '../writes/resource-service.ts';

export type ApiOptions = {
  readonly store: ResourceStore;
  readonly mode: 'global' | 'zone';
  /** The name of this zone; null on global. */
  readonly zone: string | null;
  /** It is true for a zone with a global. */
  readonly federated: boolean;
  readonly product: string;
  readonly productVersion: string;
  readonly instanceId: string;
  readonly clusterId: () => Promise<string>;
  /** The value of `apiServer.readOnly`. */
  readonly readOnly: boolean;
  /** The configuration without secrets, for `/config`. */
  readonly config: unknown;
  readonly metrics: Registry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly proxyAdmin: ProxyAdmin;
  /** The rows that are written together with a new Mesh. */
  readonly meshDefaults: ServiceOptions['meshDefaults'];

  /** The value of `multizone.zone.disableOriginLabelValidation`. */
  readonly disableOriginLabelValidation?: boolean | undefined;
  /** The value of `store.unsafeDelete`. */
  readonly unsafeDelete?: boolean | undefined;
  /** The value of `apiServer.corsAllowedDomains`. */
  readonly corsAllowedDomains?: readonly string[] | undefined;
  /** The value of `apiServer.allowedHosts`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** The changes that zones with a stream to this process have not confirmed. */
  readonly lagOf?: LagOf | undefined;
  /** The value of `multizone.global.insights` on global; `all` if left out. */
  readonly insights?: InsightsKept | undefined;
  /** Identification and rights of callers. By default local callers are admin. */
  readonly access?: Access | undefined;
  /** The rollout of a change; left out if this control plane sends nothing to others. */
  readonly followRollout?: FollowRollout | undefined;
  /** Finds what a writer should know about the stored rows. Without it, writers get no advice. */
  readonly adviceOn?: AdviceOn | undefined;
  /** The effect of a change of a Zone; left out in a zone. */
  readonly membershipChange?: MembershipChangeOf | undefined;
  /** Registers routes of other folders: inspect endpoints, tokens. */
  readonly addRoutes?: ((app: FastifyInstance, context: ApiContext) => void) | undefined;
  /** The routes that issue tokens; none if left out. */
  readonly tokens?: readonly TokenRoute[] | undefined;
  readonly timeouts?: Timeouts | undefined;
  readonly rateLimit?: RateLimit | undefined;
};

export type RowCount = { readonly type: string; readonly mesh: string; readonly total: number };

/** The dependencies of route files. */
export type ApiContext = {
  readonly options: ApiOptions;
  readonly store: ResourceStore;
  readonly service: ResourceService;
  /** The state of proxies. */
  readonly insights: ProxyInsights;
  readonly rules: WriteRules;
  readonly checkOffThread: CheckOffThread;
  /** The queue for all work of this process whose cost a caller decides. */
  readonly queue: FairQueue;
  readonly callers: Callers;
  readonly yaml: Yaml;
  readonly audit: AuditLog;
  readonly clock: Clock;
  /** Aborts when the server begins to close: long-lived answers end. */
  readonly closing: AbortSignal;
};
