// Runs the singleton tasks of a control plane on the leader: each task runs as long as the lease holds.
import type { Registry } from 'prom-client';
import { every, type Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { createResourcesCountMetric } from '../base/process-metrics.ts';
import type { ControlPlaneIdentity } from '../resource/compute-labels.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { Following } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { pruneHistory, type HistoryLimits } from './prune-history.ts';
import { createAdminToken } from '../token/create-admin-token.ts';
import { runGatewayRoutes } from '../reconcile/gateway-routes/run-gateway-routes.ts';
import { aborted, supervise } from '../base/supervise.ts';

/** The interval at which the leader counts the rows of each type (rest-api 8). */
const COUNT_MS = 60_000;

export type LeaderTask = (lease: AbortSignal) => Promise<void>;

type CommonTasksOptions = {
  readonly store: ResourceStore;
  readonly writer: ControlPlaneIdentity;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
  /** The value of `apiServer.authn.tokens.bootstrapAdminToken`. */
  readonly bootstrapAdminToken: boolean;
  /** The values of `store.history`. */
  readonly history: HistoryLimits;
};

/**
 * The tasks of the leader on either side: the first admin token, the count of resources, the routes of the Gateway API, the bounds of the
 * history.
 */
export function commonTasks({
  store,
  writer,
  registry,
  clock,
  log,
  bootstrapAdminToken,
  history,
}: CommonTasksOptions): LeaderTask[] {
  const countResources = createResourcesCountMetric(
    registry,
    resourceTypes.map(({ name }) => name),
    (type) => store.count({ type }),
  );
  return [
    async (lease) => {
      await createAdminToken(store, { bootstrapAdminToken, now: () => clock.now() });
      await aborted(lease);
    },
    (lease) => every(clock, COUNT_MS, lease, countResources),
    (lease) => runGatewayRoutes({ store, writer, clock, log }, lease),
    (lease) => pruneHistory({ store, clock, log, limits: history }, lease),
  ];
}

/** Waits for the lease and then runs the tasks, again after each loss of the lease, until the signal aborts. */
export async function lead(
  store: ResourceStore,
  tasks: readonly LeaderTask[],
  { clock, log, setLeader }: Following & { readonly setLeader: (isLeader: boolean) => void },
  signal: AbortSignal,
): Promise<void> {
  const work = async (lease: AbortSignal): Promise<void> => {
    setLeader(true);
    await Promise.all(tasks.map((task) => supervise('leader task', task, lease, { clock, log })));
    setLeader(false);
  };
  await store.lead('meridian-leader', work, signal);
}
