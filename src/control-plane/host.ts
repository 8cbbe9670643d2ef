// The life of a global and a zone process: the store, the REST API, diagnostics, and the shutdown.
// The sides add their own components; each is supervised, and all have ended before the store closes.
import type { ProxyAdmin } from '../api/proxy-admin-routes.ts';
import { exposureWarnings } from '../http/exposure.ts';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import {
  createActivityMetrics,
  createInfoMetric,
  createLeaderMetric,
  createRegistry,
  createTurnMetrics,
} from '../base/process-metrics.ts';
import { aborted, supervise } from '../base/supervise.ts';
import { productName, productVersion } from '../base/version.ts';
import { clusterIdOf } from '../defaults/create-defaults.ts';
import { defaultsComplete } from '../defaults/defaults-complete.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import { createSyncMetrics, type SyncMetrics } from '../kds/sync-metrics.ts';
import { MeshIndexes } from '../mesh-index/mesh-indexes.ts';
import { openStore } from '../store/open-store.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { ZoneInsightWriter } from '../zone-status/zone-insight-writer.ts';
import { apiOptionsOf } from './api-options-of.ts';
import { createParts, type Parts } from './create-parts.ts';
import { commonTasks, lead, type LeaderTask } from './lead.ts';
import { serveApi, serveDiagnostics } from './serve-http.ts';
import type { Side } from './side.ts';
import { endTasks, OpenTasks } from './end-tasks.ts';

/** The time limit of a readiness check for the database. */
const ANSWER_MS = 5_000;
/**
 * The time limits of a stop in milliseconds: for ports and components, then for the store. Requests in flight have 10 s. Both
 * together are less than the 30 s after which Kubernetes kills a process (docs/running.md, Stopping).
 */
const MAX_END_MS = 15_000;
const MAX_CLOSE_MS = 5_000;

export type Context = { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal };

/** The components of a process, and its tasks at the stop. */
type Life = {
  readonly signal: AbortSignal;
  /** Runs with the process, and is restarted after a failure. */
  readonly component: (name: string, task: (signal: AbortSignal) => Promise<void>) => void;
  /** Runs once when the process stops, also when it stops during its start. Call it before the port listens. */
  readonly onStop: (name: string, close: () => Promise<void>) => void;
  /** Runs when the process is asked to stop, before anything else ends. It is not ready then. */
  readonly onDrain: (drain: () => Promise<void>) => void;
  /** Runs only on the leader: work that must be done once. */
  readonly onLeader: (task: LeaderTask) => void;
};

/** A running control plane, for its global or zone part, which adds routes and tasks. */
export type Host = Life &
  Omit<Parts, 'side' | 'identity' | 'answering' | 'problems' | 'progress' | 'deliveries' | 'onward'> & {
    readonly metrics: SyncMetrics;
    readonly insights: ZoneInsightWriter;
    /** Records an event of a stream everywhere; never throws, never waits. */
    readonly observe: (event: SyncEvent) => void;
  };

type HostOptions = {
  readonly side: Side;
  readonly config: Config;
  readonly context: Context;
  /** Adds the components of the side; the process is ready when it resolves. */
  readonly start: (host: Host) => Promise<void>;
  /** The access of this side to proxies. */
  readonly proxyAdmin: (store: ResourceStore) => ProxyAdmin;
};

/** Runs a control plane until the signal aborts. Rejects if it cannot start: schema, ports, store. */
export async function runHost({ context, ...options }: HostOptions): Promise<void> {
  const { clock, log } = context;
  const { config, side } = options;
  const stop = new AbortController();
  const { signal } = stop;
  const stoppedEarly = (error: unknown): null => {
    if (!context.signal.aborted) throw error;
    log.info({ ...(error !== signal.reason && { reason: messageOf(error) }) }, 'stopped during the start');
    return null;
  };
  let isStarted = false;
  // A process whose start is complete drains first.
  const onStopAsked = (): void => {
    if (!isStarted) stop.abort(context.signal.reason);
  };
  context.signal.addEventListener('abort', onStopAsked, { once: true });
  if (context.signal.aborted) onStopAsked();
  const store = await openStore(config.store, { clock, log, signal }).catch(stoppedEarly);
  if (store === null) return;
  const indexes = new MeshIndexes({ store, log, clock, signal });
  const running = new OpenTasks();
  const closers = new Map<string, () => Promise<void>>();
  const drains: (() => Promise<void>)[] = [];
  try {
    signal.throwIfAborted();
    const ports = await startHost({
      ...options,
      context: { clock, log, signal },
      store,
      indexes,
      isUp: () => isStarted && !context.signal.aborted,
      life: {
        signal,
        component: (name, task) => running.add(name, supervise(name, task, signal, { clock, log })),
        onStop: (name, close) => void closers.set(name, close),
        onDrain: (drain) => void drains.push(drain),
      },
      endsItself: (name, task) => running.add(name, task),
    });
    isStarted = true;
    log.info({ ...ports, store: config.store.type }, `${side.mode} is up`);
    await aborted(context.signal);
    await Promise.all(drains.map((drain) => drain()));
  } catch (error) {
    stoppedEarly(error);
  } finally {
    stop.abort();
    // Finish requests in flight before the store closes.
    for (const [name, close] of closers) running.add(name, close());
    running.add('mesh indexes', indexes.ended());
    await endTasks(running, MAX_END_MS, { clock, log });
    const closing = new OpenTasks();
    closing.add('store', store.close());
    await endTasks(closing, MAX_CLOSE_MS, { clock, log });
  }
}

type Start = HostOptions & {
  readonly store: ResourceStore;
  readonly indexes: MeshIndexes;
  readonly life: Omit<Life, 'onLeader'>;
  /** Runs until it ends by itself after the signal: it still stores the rest. */
  readonly endsItself: (name: string, task: Promise<void>) => void;
  /** It is true between the end of the start and the request to stop. */
  readonly isUp: () => boolean;
};

/** Starts all of it. The ports listen when it resolves. @returns the ports */
async function startHost(options: Start): Promise<Record<string, number | null>> {
  const { side, config, context, store, indexes, life, isUp } = options;
  const { clock, log, signal } = context;
  const registry = createRegistry(side.mode === 'global' ? 'Global' : side.zone);
  const parts = await createParts({ side, config, clock, log, registry, store, indexes, component: life.component });
  const { identity, answering, expiries, instanceId, roster, senders, receipts, events } = parts;
  const insights = new ZoneInsightWriter({
    store,
    keeper: { mode: side.mode, instanceId },
    ...(side.mode === 'zone' && { zone: side.zone }),
    log,
    clock,
    flushIntervalMs: config.multizone.global.kds.zoneInsightFlushInterval,
    subscriptionLimit: config.metrics.zone.subscriptionLimit,
    lagOf: (zone) => senders.lagOf(zone),
  });
  options.endsItself('insights of zones', insights.run(signal));

  const isFirstStartOver = defaultsComplete({ store, createsDefaults: !identity.federated, defaults: config.defaults });
  const ready = async (): Promise<boolean> => isUp() && (await answers(store, clock)) && (await isFirstStartOver());
  const diagnosticsServer = await serveDiagnostics(config, { ready, metrics: registry });
  life.onStop('diagnostics', () => diagnosticsServer.close());
  for (const warning of exposureWarnings(config)) log.warn(warning);
  const api = await serveApi({ ...apiOptionsOf(parts), proxyAdmin: options.proxyAdmin(answering) }, config);
  life.onStop('REST API', () => api.server.close());
  life.component('api certificate', async (tlsSignal) => {
    await api.followCertificate?.(tlsSignal, log);
    await aborted(tlsSignal);
  });
  expiries.certificate('api', api.certificateEndsAt);

  const tasks: LeaderTask[] = [];
  const metrics = createSyncMetrics({ registry, side, senders });
  const observe = (event: SyncEvent): void => {
    metrics.observe(event);
    insights.observe(event);
    receipts.observe(event);
    events.observe(event);
  };
  await options.start({ ...parts, ...life, onLeader: (task) => void tasks.push(task), metrics, insights, observe });
  const { bootstrapAdminToken } = config.apiServer.authn.tokens;
  tasks.push(
    ...commonTasks({ store, writer: identity, registry, clock, log, bootstrapAdminToken, history: config.store.history }),
  );
  const showLeader = createLeaderMetric(registry);
  const setLeader = (isLeader: boolean): void => {
    showLeader(isLeader);
    roster.setLeader(isLeader);
  };
  life.component('leader', (leaderSignal) => lead(store, tasks, { clock, log, setLeader }, leaderSignal));
  const build = { product: productName, version: productVersion, buildDate: '', gitCommit: '', gitTag: '' };
  createInfoMetric(registry, { ...build, instanceId }, () => clusterIdOf(store));
  createActivityMetrics(registry);
  createTurnMetrics(registry);
  const { apiServer, diagnostics } = config;
  return { api: apiServer.http.enabled ? apiServer.http.port : null, https: api.httpsPort, diagnostics: diagnostics.serverPort };
}

/** Whether the database answers in time. A database that hangs neither answers nor closes its connections. */
async function answers(store: ResourceStore, clock: Clock): Promise<boolean> {
  const given = new AbortController();
  const ping = store.ping().then(
    () => true,
    () => false,
  );
  const silence = clock.sleep(ANSWER_MS, given.signal, { ref: false }).then(() => false);
  return await Promise.race([ping, silence]).finally(() => given.abort());
}
