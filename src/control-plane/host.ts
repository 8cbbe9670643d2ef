// What global and zone have in common as a process: the store, the REST API, diagnostics, metrics, and an orderly end.
// The sides add their own components; each is supervised, and all have ended before the store closes.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { createApi } from '../api/create-api.ts';
import { HttpsListener } from '../api/https-listener.ts';
import type { ProxyAdmin } from '../api/proxy-admin-routes.ts';
import { createDiagnostics } from '../api/diagnostics.ts';
import { every, systemClock } from '../base/clock.ts';
import { sanitizedConfig, type Config } from '../base/config.ts';
import { MeridianError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { createInfoMetric, createLeaderMetric, createRegistry, createResourcesCountMetric } from '../base/process-metrics.ts';
import { productName, productVersion } from '../base/version.ts';
import { createSyncMetrics, type SyncMetrics } from '../kds/sync-metrics.ts';
import { CLUSTER_ID_CONFIG } from '../resource/default-resources.ts';
import { addPolicyInspect } from '../inspect/add-inspect-routes.ts';
import { describedRoutes } from '../inspect/described-routes.ts';
import { specJsonSchema } from '../resource/schema/check-spec.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import { meshDefaults } from '../store/create-defaults.ts';
import { openStore } from '../store/open-store.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { ZoneInsightWriter } from '../store/zone-insight-writer.ts';
import { checkSpec } from './check-spec.ts';
import { runGatewayRoutes } from './gateway-routes.ts';
import { createAdminToken } from '../token/create-admin-token.ts';
import { serverTls } from './server-tls.ts';
import { aborted, supervise } from './supervise.ts';
import { createTokens, type Tokens } from './tokens.ts';

/** How often the leader counts the rows of each type (rest-api 8). */
const COUNT_MS = 60_000;

export type Side = { readonly mode: 'global' } | { readonly mode: 'zone'; readonly zone: string; readonly hasGlobal: boolean };

export type Context = { readonly log: Logger; readonly signal: AbortSignal };

/** A running control plane, as its side sees it while it adds what is its own. */
export type Host = {
  readonly config: Config;
  readonly store: ResourceStore;
  readonly instanceId: string;
  readonly registry: Registry;
  readonly metrics: SyncMetrics;
  readonly insights: ZoneInsightWriter;
  readonly tokens: Tokens;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Runs with the process; started again when it fails. */
  readonly component: (name: string, task: (signal: AbortSignal) => Promise<void>) => void;
  /** Runs on the leader alone: work that must be done once. */
  readonly onLeader: (task: (signal: AbortSignal) => Promise<void>) => void;
};

export type HostOptions = {
  readonly side: Side;
  readonly config: Config;
  readonly context: Context;
  /** Adds the components of the side; the process is ready when it resolves. */
  readonly start: (host: Host) => Promise<void>;
  /** How this side reaches the proxies. */
  readonly proxyAdmin: (store: ResourceStore) => ProxyAdmin;
};

/** Runs a control plane until the signal aborts. Rejects if it cannot start: schema, ports, store. */
export async function runHost({ side, config, context, start, proxyAdmin }: HostOptions): Promise<void> {
  const { log } = context;
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  const isFederated = side.mode === 'zone' && side.hasGlobal;
  const instanceId = `${hostname()}-${randomUUID().slice(0, 4)}`;
  const registry = createRegistry(side.mode === 'global' ? 'Global' : side.zone);
  const store = await openStore(config.store, { log });
  const running: Promise<void>[] = [];
  const leaderTasks: ((signal: AbortSignal) => Promise<void>)[] = [];
  const servers: FastifyInstance[] = [];
  let started = false;
  let httpsPort: number | null = null;
  try {
    const component: Host['component'] = (name, task) => void running.push(supervise(name, task, signal, log));
    const insights = new ZoneInsightWriter({
      store,
      keeper: { mode: side.mode, instanceId, version: productVersion },
      ...(side.mode === 'zone' && { zone: side.zone }),
      log,
      clock: systemClock,
      flushIntervalMs: config.multizone.global.kds.zoneInsightFlushInterval,
      subscriptionLimit: config.metrics.zone.subscriptionLimit,
    });
    running.push(insights.run(signal));
    const clusterId = async (): Promise<string> => {
      const row = await store.get({ type: 'Config', mesh: '', name: CLUSTER_ID_CONFIG });
      return typeof row?.spec['config'] === 'string' ? row.spec['config'] : '';
    };
    const { apiServer } = config;
    const tokens = await createTokens(store, config, isFederated);
    component('token secrets', (secretsSignal) => tokens.secrets.run(secretsSignal));
    const timeouts = { headers: apiServer.readHeaderTimeout, request: apiServer.readTimeout, idle: apiServer.idleTimeout };
    const api = createApi({
      store,
      mode: side.mode,
      zone: side.mode === 'zone' ? side.zone : null,
      federated: isFederated,
      product: productName,
      productVersion,
      instanceId,
      clusterId,
      readOnly: config.apiServer.readOnly,
      config: sanitizedConfig(config),
      metrics: registry,
      log,
      proxyAdmin: proxyAdmin(store),
      meshDefaults: (mesh) => meshDefaults(store, mesh, side),
      access: tokens.access,
      tokens: tokens.routes,
      timeouts,
      rateLimit: apiServer.rateLimit,
      corsAllowedDomains: apiServer.corsAllowedDomains,
      disableOriginLabelValidation: config.multizone.zone.disableOriginLabelValidation,
      unsafeDelete: config.store.unsafeDelete,
      writeAll: (writes) => store.writeAll(writes),
      countRows: () => store.countAll(),
      specSchema: specJsonSchema,
      addRoutes: addPolicyInspect,
      describedRoutes,
      checkSpec,
    });
    const diagnostics = createDiagnostics({
      ready: async () => started && (await answers(store)),
      metrics: registry,
    });
    servers.push(api, diagnostics);
    const { serverPort } = config.diagnostics;
    await listen('diagnostics.serverPort', { interface: '0.0.0.0', port: serverPort }, () =>
      diagnostics.listen({ host: '0.0.0.0', port: serverPort }),
    );
    // Before the API listens: it closes both doors.
    const httpsTls = apiServer.https.enabled ? await serverTls('apiServer.https', apiServer.https, config.general) : null;
    const https = httpsTls === null ? null : new HttpsListener(api, { ...httpsTls, timeouts });
    if (apiServer.http.enabled)
      await listen('apiServer.http.port', apiServer.http, () =>
        api.listen({ host: apiServer.http.interface, port: apiServer.http.port }),
      );
    else await api.ready();
    if (https !== null)
      httpsPort = await listen('apiServer.https.port', apiServer.https, () =>
        https.listen(apiServer.https.interface, apiServer.https.port),
      );
    component('api certificate', async (tlsSignal) => {
      await httpsTls?.follow((material) => https?.replace(material), tlsSignal, log);
      await aborted(tlsSignal);
    });
    await start({
      config,
      store,
      instanceId,
      registry,
      metrics: createSyncMetrics({ registry, side }),
      insights,
      tokens,
      log,
      signal,
      component,
      onLeader: (task) => void leaderTasks.push(task),
    });
    const { bootstrapAdminToken } = apiServer.authn.tokens;
    leaderTasks.push(async (lease) => {
      await createAdminToken(store, { bootstrapAdminToken, now: () => systemClock.now() });
      await aborted(lease);
    });
    const countResources = createResourcesCountMetric(
      registry,
      resourceTypes.map(({ name }) => name),
      (type) => store.count({ type }),
    );
    leaderTasks.push(async (lease) => every(systemClock, COUNT_MS, lease, countResources));
    const writer = { mode: side.mode, zone: side.mode === 'zone' ? side.zone : null, federated: isFederated };
    leaderTasks.push((lease) => runGatewayRoutes({ store, writer, clock: systemClock, log }, lease));
    const setLeader = createLeaderMetric(registry);
    const setInfo = createInfoMetric(registry);
    component('leader', (leaderSignal) =>
      store.lead(
        'meridian-leader',
        async (lease) => {
          setLeader(true);
          await Promise.all(leaderTasks.map((task) => supervise('leader task', task, lease, log)));
          setLeader(false);
        },
        leaderSignal,
      ),
    );
    component('info metric', async (infoSignal) => {
      const build = { product: productName, version: productVersion, buildDate: '', gitCommit: '', gitTag: '' };
      setInfo({ ...build, instanceId, clusterId: await clusterId() });
      await aborted(infoSignal);
    });
    started = true;
    log.info(
      { api: apiServer.http.port, https: httpsPort, diagnostics: config.diagnostics.serverPort, store: config.store.type },
      `${side.mode} is up`,
    );
    await aborted(signal);
  } finally {
    stop.abort();
    // Requests in flight are finished before the store goes.
    await Promise.allSettled(servers.map((server) => server.close()));
    await Promise.allSettled(running);
    await store.close();
  }
}

async function answers(store: ResourceStore): Promise<boolean> {
  return await store.ping().then(
    () => true,
    () => false,
  );
}

/** Says which key of the configuration to change when the address cannot be had. */
async function listen<T>(
  key: string,
  at: { readonly interface: string; readonly port: number },
  bind: () => Promise<T>,
): Promise<T> {
  return await bind().catch((cause: unknown) => {
    const where = `${at.interface}:${String(at.port)}`;
    throw new MeridianError('config', `${key}: cannot listen on ${where}; free it or choose another port`, { cause });
  });
}
