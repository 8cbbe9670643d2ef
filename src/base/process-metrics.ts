// The registry of a process and the metrics about the process itself, under Kuma's names (rest-api 8).
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { Gauge, Registry } from 'prom-client';

/** The build information, and the identity of the process and its deployment. */
type ProcessInfo = {
  readonly product: string;
  readonly version: string;
  readonly buildDate: string;
  readonly gitCommit: string;
  readonly gitTag: string;
  readonly instanceId: string;
};

/**
 * A registry whose every series has the label `zone`.
 * @param zoneLabel the name of the zone, or `Global`
 */
export function createRegistry(zoneLabel: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ zone: zoneLabel });
  return registry;
}

/**
 * `cp_info`, 1 for the build and the deployment that it names.
 * @param clusterId the id as the store has it: empty until the defaults are created, or have come by KDS; a failure leaves it empty
 */
export function createInfoMetric(registry: Registry, info: ProcessInfo, clusterId: () => Promise<string>): void {
  const gauge = new Gauge({
    name: 'cp_info',
    help: 'What this control plane is',
    labelNames: ['product', 'version', 'build_date', 'git_commit', 'git_tag', 'instance_id', 'cluster_id'],
    registers: [registry],
    collect: async () => {
      const cluster = await clusterId().catch(() => '');
      gauge.reset();
      gauge.set(
        {
          product: info.product,
          version: info.version,
          build_date: info.buildDate,
          git_commit: info.gitCommit,
          git_tag: info.gitTag,
          instance_id: info.instanceId,
          cluster_id: cluster,
        },
        1,
      );
    },
  });
}

/** Returns a function that sets `leader`: 1 on the leader. */
export function createLeaderMetric(registry: Registry): (isLeader: boolean) => void {
  const gauge = new Gauge({ name: 'leader', help: '1 on the instance that leads', registers: [registry] });
  gauge.set(0);
  return (isLeader) => gauge.set(isLeader ? 1 : 0);
}

/**
 * `nodejs_active_resources` and `nodejs_heap_size_used_bytes`, under the names of prom-client: they show leaks.
 * @param read the kind of each open resource of the process, such as `Timeout` or `TCPSocketWrap`, and the used heap in bytes
 */
export function createActivityMetrics(
  registry: Registry,
  read: { readonly resources: () => readonly string[]; readonly heapBytes: () => number } = {
    resources: () => process.getActiveResourcesInfo(),
    heapBytes: () => getHeapStatistics().used_heap_size,
  },
): void {
  const resources = new Gauge({
    name: 'nodejs_active_resources',
    help: 'Open resources that keep the process alive, by kind',
    labelNames: ['type'],
    registers: [registry],
    collect: () => {
      resources.reset();
      for (const type of read.resources()) resources.inc({ type });
    },
  });
  const heap = new Gauge({
    name: 'nodejs_heap_size_used_bytes',
    help: 'Used heap of V8',
    registers: [registry],
    collect: (): void => heap.set(read.heapBytes()),
  });
}

/** The interval of the measurements of the delay of the event loop, in milliseconds. */
const LOOK_MS = 5;

/** Delays of the event loop in nanoseconds, each with the time between two looks. */
type LoopDelays = {
  readonly max: number;
  readonly percentile: (share: number) => number;
  readonly reset: () => void;
};

/**
 * `nodejs_eventloop_lag_max_seconds` and `nodejs_eventloop_lag_p99_seconds`, under the names of prom-client: how long the longest turn of the
 * main thread kept everything else waiting since the last scrape.
 */
export function createTurnMetrics(registry: Registry, delays: LoopDelays = watchedLoop()): void {
  const seconds = (nanoseconds: number): number => Math.max(0, (nanoseconds - LOOK_MS * 1e6) / 1e9);
  const longest = new Gauge({
    name: 'nodejs_eventloop_lag_max_seconds',
    help: 'The longest delay of the event loop since the last scrape',
    registers: [registry],
    collect: () => {
      longest.set(seconds(delays.max));
      usual.set(seconds(delays.percentile(99)));
      delays.reset();
    },
  });
  const usual = new Gauge({
    name: 'nodejs_eventloop_lag_p99_seconds',
    help: 'The delay of the event loop that one look in a hundred exceeds, since the last scrape',
    registers: [registry],
  });
}

function watchedLoop(): LoopDelays {
  const delays = monitorEventLoopDelay({ resolution: LOOK_MS });
  delays.enable();
  return delays;
}

/**
 * `resources_count`, for the leader.
 * @param count the number of rows of a type
 * @returns one refresh, to be called every minute
 */
export function createResourcesCountMetric(
  registry: Registry,
  types: readonly string[],
  count: (type: string) => Promise<number>,
): () => Promise<void> {
  const gauge = new Gauge({
    name: 'resources_count',
    help: 'Resources in the store, by type',
    labelNames: ['resource_type', 'tenant'],
    registers: [registry],
  });
  return async () => {
    for (const type of types) gauge.set({ resource_type: type, tenant: '' }, await count(type));
  };
}
