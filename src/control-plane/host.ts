// The common part of a global and a zone process: the store, the REST API, diagnostics, metrics, and the shutdown.
// The sides add their own components; each is supervised, and all have ended before the store closes.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import type { ApiOptions } from '../api/api-options.ts';
import type { ProxyAdmin } from '../api/proxy-admin-routes.ts';
import type { Clock } from '../base/clock.ts';
import { sanitizedConfig, type Config } from '../base/config.ts';
import { messageOf } from '../base/errors.ts';
import { createExpiryMetrics, type ExpiryMetrics } from '../base/expiry-metrics.ts';
import type { Logger } from '../base/log.ts';
import { createActivityMetrics, createInfoMetric, createLeaderMetric, createRegistry } from '../base/process-metrics.ts';
import { productName, productVersion } from '../base/version.ts';
import { addPolicyInspect } from '../inspect/add-inspect-routes.ts';
import { globalSendRules, zoneSendRules, type SendRules } from '../kds/rules.ts';
import { GlobalLink } from '../kds/global-link.ts';
import { OpenSenders } from '../kds/open-senders.ts';
import { createSyncMetrics, type SyncMetrics } from '../kds/sync-metrics.ts';
import { createEvents, type Events } from '../events/create-events.ts';
import { MeshIndexes } from '../mesh-index/mesh-indexes.ts';
import { addEventRoutes } from '../events/event-routes.ts';
import { addSummaryRoute } from '../events/summary-route.ts';
import { CurrentProblems, type ProblemSources } from '../problems/current-problems.ts';
import { addProblemRoutes } from '../problems/problem-routes.ts';
import { addReceiptRoutes, rolloutFollower, type OnwardFollower } from '../receipts/receipt-routes.ts';
import { OnwardQuestions } from '../receipts/onward-questions.ts';
import { DeliveryQuestions } from '../receipts/delivery-questions.ts';
import { addProgressRoutes } from '../receipts/progress-routes.ts';
import { ZoneProgress } from '../receipts/zone-progress.ts';
import { Receipts } from '../receipts/receipts.ts';
import { BEAT_MS, ReplicaRoster, SHARING_BEAT_MS } from '../replicas/replica-roster.ts';
import type { ControlPlaneIdentity } from '../resource/compute-labels.ts';
import { CLUSTER_ID_CONFIG } from '../defaults/default-resources.ts';
import { textOf } from '../resource/read-json.ts';
import { answerInTime } from '../store/answer-in-time.ts';
import { meshDefaults } from '../defaults/create-defaults.ts';
import { openStore } from '../store/open-store.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { ZoneInsightWriter } from '../zone-status/zone-insight-writer.ts';
import { exposureWarnings } from '../api/exposure.ts';
import { defaultsComplete } from '../defaults/defaults-complete.ts';
import { commonTasks, lead, type LeaderTask } from './lead.ts';
import { serveApi, serveDiagnostics } from './serve-http.ts';
import { aborted, supervise } from '../base/supervise.ts';
import { endTasks, OpenTasks } from './stop.ts';
import { createTokens, type Tokens } from './tokens.ts';

/** The time limit of a readiness check for the database. */
const ANSWER_MS = 5_000;
/**
 * The time limits of a stop in milliseconds: for ports and components, then for the store. Requests in flight have 10 s. Both
 * together are less than the 30 s after which Kubernetes kills a process (docs/operations.md, Stopping).
 */
const MAX_END_MS = 15_000;
const MAX_CLOSE_MS = 5_000;

export type Side = { readonly mode: 'global' } | { readonly mode: 'zone'; readonly zone: string; readonly hasGlobal: boolean };

export type Context = { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal };

/** A running control plane, for its global or zone part, which adds routes and tasks. */
export type Host = {
  readonly config: Config;
  readonly clock: Clock;
  readonly store: ResourceStore;
  /** The rules for sending rows to the other side. */
  readonly rules: SendRules;
  readonly instanceId: string;
  readonly registry: Registry;
  readonly metrics: SyncMetrics;
  readonly expiries: ExpiryMetrics;
  readonly insights: ZoneInsightWriter;
  /** The streams of this process that send resources. */
  readonly senders: OpenSenders;
  /** Of global: what it does not forward, by zone and mesh. The part for global sets it. */
  readonly membership: { notForwarded: ProblemSources['notForwarded'] };
  /** The connection of this process to global; without a connection on global. */
  readonly link: GlobalLink;
  /** What became of the changes that this process sends. */
  readonly receipts: Receipts;
  /** What changes, for callers who follow it. */
  readonly events: Events;
  readonly tokens: Tokens;
  /** What policies are computed from, one for each mesh that is asked for. */
  readonly indexes: MeshIndexes;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Runs with the process, and is restarted after a failure. */
  readonly component: (name: string, task: (signal: AbortSignal) => Promise<void>) => void;
  /** Runs once when the process stops, also when it stops during its start. Call it before the port listens. */
  readonly onStop: (name: string, close: () => Promise<void>) => void;
  /** Runs when the process is asked to stop, before anything else ends. It is not ready then. */
  readonly onDrain: (drain: () => Promise<void>) => void;
  /** The other replicas of this control plane. */
  readonly roster: ReplicaRoster;
  /** Runs only on the leader: work that must be done once. */
  readonly onLeader: (task: LeaderTask) => void;
};

export type HostOptions = {
  readonly side: Side;
  readonly config: Config;
  readonly context: Context;
  /** Adds the components of the side; the process is ready when it resolves. */
  readonly start: (host: Host) => Promise<void>;
  /** The access of this side to proxies. */
  readonly proxyAdmin: (store: ResourceStore) => ProxyAdmin;
};

/** Runs a control plane until the signal aborts. Rejects if it cannot start: schema, ports, store. */
export async function runHost({ side, config, context, start, proxyAdmin }: HostOptions): Promise<void> {
  const { clock, log } = context;
  const stop = new AbortController();
  const { signal } = stop;
  const instanceId = `${hostname()}-${randomUUID().slice(0, 4)}`;
  const registry = createRegistry(side.mode === 'global' ? 'Global' : side.zone);
  const stoppedEarly = (error: unknown): null => {
    if (!context.signal.aborted) throw error;
    log.info({ ...(error !== signal.reason && { reason: messageOf(error) }) }, 'stopped during the start');
    return null;
  };
  let isStarted = false;
  // What has started completely drains first.
  const onStopAsked = (): void => {
    if (!isStarted) stop.abort(context.signal.reason);
  };
  context.signal.addEventListener('abort', onStopAsked, { once: true });
  if (context.signal.aborted) onStopAsked();
  const store = await openStore(config.store, { clock, log, signal }).catch(stoppedEarly);
  if (store === null) return;
  const running = new OpenTasks();
  const closers = new Map<string, () => Promise<void>>();
  const drains: (() => Promise<void>)[] = [];
  const indexes = new MeshIndexes({ store, log, clock, signal });
  try {
    signal.throwIfAborted();
    const component: Host['component'] = (name, task) => running.add(name, supervise(name, task, signal, { clock, log }));
    const onStop: Host['onStop'] = (name, close) => void closers.set(name, close);
    const senders = new OpenSenders();
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
    running.add('insights of zones', insights.run(signal));
    const answering = answerInTime(store, clock);
    const receipts = new Receipts({
      mode: side.mode,
      store: answering,
      instanceId,
      clock,
      log: log.child({ component: 'receipts' }),
    });
    component('receipts', (receiptsSignal) => receipts.run(receiptsSignal));
    const expiries = createExpiryMetrics(registry);
    const shares = side.mode === 'global' && config.store.type === 'postgres';
    const beatMs = shares ? SHARING_BEAT_MS : BEAT_MS;
    const roster = new ReplicaRoster({ store: answering, instanceId, version: productVersion, beatMs, clock, log });
    component('replicas', (rosterSignal) => roster.run(rosterSignal));
    const lagOf = (zone: string): ReturnType<typeof senders.lagOf> => senders.lagOf(zone);
    const membership: Host['membership'] = { notForwarded: () => new Map() };
    const problems = new CurrentProblems({
      ...{ mode: side.mode, zone: writerOf(side).zone, instanceId, productVersion },
      ...{ store: answering, lagOf, roster, ends: () => expiries.ends(), clock },
      notForwarded: () => membership.notForwarded(),
    });
    const progress = new ZoneProgress({ mode: side.mode, store: answering, instanceId, senders, clock, log });
    component('progress', (progressSignal) => progress.run(progressSignal));
    const deliveries = new DeliveryQuestions({ store: answering, instanceId, senders, clock, log });
    component('deliveries', (deliveriesSignal) => deliveries.run(deliveriesSignal));
    const link = new GlobalLink();
    const onward = new OnwardQuestions({ store: answering, instanceId, receipts, link, clock, log });
    if (writerOf(side).federated) component('onward', (onwardSignal) => onward.run(onwardSignal));
    const events = createEvents({ store: answering, lagOf, receipts, problems, roster, instanceId, clock, log });
    const tokens = await createTokens(answering, config, writerOf(side).federated, clock);
    component('token secrets', (secretsSignal) => tokens.secrets.run({ clock, log }, secretsSignal));

    const rules = sendRulesOf(side, config);
    const createsDefaults = !writerOf(side).federated;
    const isFirstStartOver = defaultsComplete({ store, createsDefaults, defaults: config.defaults });
    const ready = async (): Promise<boolean> =>
      isStarted && !context.signal.aborted && (await answers(store, clock)) && (await isFirstStartOver());
    const diagnosticsServer = await serveDiagnostics(config, { ready, metrics: registry });
    onStop('diagnostics', () => diagnosticsServer.close());
    const options = apiOptions({
      side,
      config,
      clock,
      store: answering,
      rules,
      tokens,
      indexes,
      senders,
      receipts,
      events,
      problems,
      progress,
      deliveries,
      onward,
      roster,
      registry,
      instanceId,
      log,
    });
    for (const warning of exposureWarnings(config)) log.warn(warning);
    const api = await serveApi({ ...options, proxyAdmin: proxyAdmin(answering) }, config);
    onStop('REST API', () => api.server.close());
    component('api certificate', async (tlsSignal) => {
      await api.followCertificate?.(tlsSignal, log);
      await aborted(tlsSignal);
    });

    const tasks: LeaderTask[] = [];
    const metrics = createSyncMetrics({ registry, side, now: () => clock.now() });
    expiries.certificate('api', api.certificateEndsAt);
    const onLeader = (task: LeaderTask): void => void tasks.push(task);
    await start({
      config,
      clock,
      store,
      rules,
      instanceId,
      registry,
      metrics,
      expiries,
      insights,
      senders,
      membership,
      link,
      receipts,
      events,
      tokens,
      indexes,
      log,
      signal,
      component,
      onStop,
      onDrain: (drain) => void drains.push(drain),
      roster,
      onLeader,
    });
    const { bootstrapAdminToken } = config.apiServer.authn.tokens;
    tasks.push(
      ...commonTasks({ store, writer: writerOf(side), registry, clock, log, bootstrapAdminToken, history: config.store.history }),
    );
    const showLeader = createLeaderMetric(registry);
    const setLeader = (isLeader: boolean): void => {
      showLeader(isLeader);
      roster.setLeader(isLeader);
    };
    component('leader', (leaderSignal) => lead(store, tasks, { clock, log, setLeader }, leaderSignal));
    const build = { product: productName, version: productVersion, buildDate: '', gitCommit: '', gitTag: '' };
    createInfoMetric(registry, { ...build, instanceId }, () => clusterIdOf(store));
    createActivityMetrics(registry);
    isStarted = true;
    const { apiServer, diagnostics } = config;
    const ports = { api: apiServer.http.port, https: api.httpsPort, diagnostics: diagnostics.serverPort };
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

type ApiParts = Pick<
  Host,
  | 'config'
  | 'clock'
  | 'store'
  | 'rules'
  | 'tokens'
  | 'indexes'
  | 'senders'
  | 'receipts'
  | 'events'
  | 'registry'
  | 'instanceId'
  | 'log'
> & {
  readonly side: Side;
  readonly problems: CurrentProblems;
  readonly progress: ZoneProgress;
  readonly deliveries: DeliveryQuestions;
  readonly onward: OnwardQuestions;
  readonly roster: ReplicaRoster;
};

/** The options of the REST API, from the side, the configuration and the other folders. */
function apiOptions({
  side,
  config,
  clock,
  store,
  rules,
  tokens,
  indexes,
  senders,
  receipts,
  events,
  problems,
  progress,
  deliveries,
  onward,
  roster,
  registry,
  instanceId,
  log,
}: ApiParts): Omit<ApiOptions, 'proxyAdmin'> {
  const { apiServer } = config;
  const askOnward: OnwardFollower = { clock, of: (key, waitMs, signal) => onward.of(key, waitMs, signal) };
  const secondHop = writerOf(side).federated ? askOnward : null;
  const followRollout = rolloutFollower(receipts, rules, store, secondHop);
  const addInspect = addPolicyInspect(
    rules,
    indexes,
    senders,
    (row) => receipts.confirmedOf(row),
    (rows, zones, signal) => deliveries.of(rows, zones, signal),
    () => events.followed(),
  );
  return {
    store,
    ...writerOf(side),
    product: productName,
    productVersion,
    instanceId,
    clusterId: () => clusterIdOf(store),
    readOnly: apiServer.readOnly,
    config: sanitizedConfig(config),
    metrics: registry,
    clock,
    log,
    meshDefaults: (mesh) => meshDefaults(store, mesh, side),
    access: tokens.access,
    tokens: tokens.routes,
    rateLimit: apiServer.rateLimit,
    corsAllowedDomains: apiServer.corsAllowedDomains,
    allowedHosts: apiServer.allowedHosts,
    disableOriginLabelValidation: config.multizone.zone.disableOriginLabelValidation,
    unsafeDelete: config.store.unsafeDelete,
    lagOf: (zone) => senders.lagOf(zone),
    followRollout,
    addRoutes: (app, context) => {
      addInspect(app, context);
      addReceiptRoutes(app, context, receipts, followRollout, secondHop);
      addEventRoutes(app, context, events.hub);
      addSummaryRoute(app, context, events);
      addProgressRoutes(app, context, progress);
      addProblemRoutes(app, context, problems, roster);
    },
  };
}

function sendRulesOf(side: Side, { multizone }: Config): SendRules {
  if (side.mode === 'global') {
    const { labels, meshTrustAcrossZones } = multizone.global.kds;
    return globalSendRules({ ...labels, meshTrustAcrossZones });
  }
  return zoneSendRules({ zone: side.zone, ...multizone.zone.kds.labels });
}

function writerOf(side: Side): ControlPlaneIdentity {
  const zone = side.mode === 'zone' ? side.zone : null;
  return { mode: side.mode, zone, federated: side.mode === 'zone' && side.hasGlobal };
}

async function clusterIdOf(store: ResourceStore): Promise<string> {
  const row = await store.get({ type: 'Config', mesh: '', name: CLUSTER_ID_CONFIG });
  return textOf(row?.spec['config']);
}

/** Also false without any answer: a hanging database neither answers nor closes its connections. */
async function answers(store: ResourceStore, clock: Clock): Promise<boolean> {
  const given = new AbortController();
  const ping = store.ping().then(
    () => true,
    () => false,
  );
  const silence = clock.sleep(ANSWER_MS, given.signal, { ref: false }).then(() => false);
  return await Promise.race([ping, silence]).finally(() => given.abort());
}
