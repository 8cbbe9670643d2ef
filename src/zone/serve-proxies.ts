// Starts the port for proxies with its certificate, its authentication and the store, and the server that configures the proxies.
import { join } from 'node:path';
import { serverTls } from '../base/server-tls.ts';
import { aborted } from '../base/supervise.ts';
import { countAll, type ProxyEvent } from '../ads/proxy-events.ts';
import { ProxyServer } from '../ads/proxy-server.ts';
import type { Host } from '../control-plane/host.ts';
import { NameServer } from '../names/name-server.ts';
import { ProxyPort } from '../proxy-port/proxy-port.ts';
import { RefusedProxies } from '../token/refused-proxies.ts';
import type { ServeProxy } from '../proxy-port/proxy-stream.ts';
import { ProxyHealth } from '../proxy-health/proxy-health.ts';
import { DataplaneInsightWriter } from '../proxy-status/dataplane-insight-writer.ts';
import { DataplaneStatusWriter } from '../proxy-status/dataplane-status-writer.ts';
import { createPlaintextMetric } from '../proxy-status/plaintext-metric.ts';
import { showAlive } from '../proxy-status/dead-replicas.ts';
import { leaveDataplane } from '../proxy-status/leaving-dataplanes.ts';
import { createProxyMetrics } from '../proxy-status/proxy-metrics.ts';
import { observeRefusals } from '../proxy-status/proxy-refusals.ts';
import { RegisteredDataplanes } from '../proxy-status/registered-dataplanes.ts';
import { removeAbandoned } from '../proxy-status/remove-abandoned.ts';
import { answerInTime } from '../store/answer-in-time.ts';
import { runSubscriptionFinalizer } from '../subscriptions/subscription-finalizer.ts';
import { ProxyAuthenticator, watchProxyTokens } from '../token/proxy-authenticator.ts';

/** The milliseconds for the lock that shows a replica alive. */
const SHOWN_MS = 3_000;

/** Listens on `dpServer.port`. Each replica of a zone serves proxies. Rejects with MeridianError `config` where it cannot. */
export async function serveProxies(host: Host, serve: ServeProxy): Promise<void> {
  const { config, store, tokens, clock } = host;
  const { general, dpServer, multizone } = config;
  const { name: zone, globalAddress } = multizone.zone;
  const { type } = dpServer.authn.dpProxy;
  const log = host.log.child({ component: 'proxies' });
  if (type === 'none')
    log.warn('dpServer.authn.dpProxy.type is none: any client that reaches the port for proxies can come as any Dataplane');
  const { secrets, verifier } = tokens;
  const watch = watchProxyTokens({ secrets, verifier, clock });
  host.component('dataplane tokens', (watchSignal) => watch.run(watchSignal));
  const answering = answerInTime(store, clock);
  const keep = { folder: join(general.workDir, zone, 'dp-server'), log };
  const tls = await serverTls('dpServer', dpServer, general, clock, keep);
  const refused = new RefusedProxies(clock);
  host.admission.refused = () => refused.list();
  const port = new ProxyPort({
    refused,
    host: dpServer.interface,
    port: dpServer.port,
    tls,
    limits: dpServer.connections,
    readHeaderTimeout: dpServer.readHeaderTimeout,
    authenticator: new ProxyAuthenticator(verifier, type),
    watch,
    serve,
    serveHealth: dpServer.hds.enabled ? proxyHealth(host) : null,
    serveNames: new NameServer({ indexes: host.indexes, clock }).serve,
    launcher: {
      needsToken: type !== 'none',
      dataplane: async (mesh, name) => (await answering.get({ type: 'Dataplane', mesh, name })) ?? null,
      writer: { mode: 'zone', zone, federated: globalAddress !== '' },
      leave: (proxy) => leaveDataplane(answering, proxy),
    },
    clock,
    log,
  });
  host.onStop('port for proxies', () => port.close());
  await shownAlive(host);
  const bound = await port.listen();
  log.info({ port: bound }, 'proxies can connect');
  host.expiries.certificate('proxies', tls.endsAt);
  host.component('dp-server certificate', async (tlsSignal) => {
    await tls.follow((material) => port.replaceTls(material), tlsSignal, log);
    await aborted(tlsSignal);
  });
}

/**
 * Shows to the other replicas that this one lives. Resolves when they can know it, or a little later: the database may be away.
 */
async function shownAlive({ store, instanceId, clock, log, component, signal: stop }: Host): Promise<void> {
  const shown = new AbortController();
  component('sign of life', (signal) => showAlive({ store, instanceId, clock, log }, () => shown.abort(), signal));
  await clock.sleep(SHOWN_MS, AbortSignal.any([shown.signal, stop]));
}

/** Takes what Envoys report of their health. */
function proxyHealth({ config, store, clock, log, component }: Host): ServeProxy {
  const { interval: reportMs, applications } = config.dpServer.hds;
  const health = new ProxyHealth({
    store: answerInTime(store, clock),
    reportMs,
    applications: applications.enabled ? applications : null,
    clock,
    log: log.child({ component: 'proxy health' }),
  });
  component('health of proxies', (signal) => health.run(signal));
  return health.serve;
}

/** The server that configures proxies, with the insights, metrics and log lines of their streams. */
export function proxyServer(host: Host): ProxyServer {
  const { indexes, instanceId, config, clock, log, store, registry, signal } = host;
  const { metrics, multizone, xdsServer } = config;
  const { name: zone, globalAddress, disableOriginLabelValidation } = multizone.zone;
  const { subscriptionLimit, idleTimeout } = metrics.dataplane;
  const insights = new DataplaneInsightWriter({
    ...{ store, instanceId, clock, log: log.child({ component: 'proxies' }), subscriptionLimit },
    flushIntervalMs: xdsServer.dataplaneStatusFlushInterval,
    generationIntervalMs: idleTimeout / 2,
  });
  host.component('insights of proxies', (insightsSignal) => insights.run(insightsSignal));
  host.onLeader((lease) =>
    runSubscriptionFinalizer({ type: 'DataplaneInsight', store, log, clock, idleTimeoutMs: idleTimeout }, lease),
  );
  const removing = { store, log, clock, instanceId, graceMs: xdsServer.dataplaneDeregistrationDelay };
  host.onLeader((lease) => removeAbandoned(removing, lease));
  const rules = {
    writer: { mode: 'zone', zone, federated: globalAddress !== '' } as const,
    checksOrigin: !disableOriginLabelValidation,
  };
  const keepsHealth = config.dpServer.hds.enabled;
  const dataplanes = new RegisteredDataplanes({ store: answerInTime(store, clock), insights, rules, keepsHealth, signal });
  const statuses = new DataplaneStatusWriter({ store, clock, log: log.child({ component: 'proxies' }) });
  host.component('statuses of Dataplanes', (statusesSignal) => statuses.run(statusesSignal));
  const streamMetrics = createProxyMetrics(registry, clock);
  createPlaintextMetric(registry, indexes, zone);
  const attribute = observeRefusals({ indexes, insights, log: log.child({ component: 'proxies' }) });
  const observe = (event: ProxyEvent): void => {
    streamMetrics.observe(event);
    insights.observe(event);
    statuses.observe(event);
    attribute(event);
  };
  const count = countAll(streamMetrics.count, (facts) => insights.counter(facts));
  const proxyStore = answerInTime(store, clock);
  const server = new ProxyServer({ indexes, zone, instanceId, dataplanes, observe, count, store: proxyStore, clock, log });
  host.component('streams of proxies', (streamsSignal) =>
    insights.follow((at, streamId) => server.supersede(at, streamId), streamsSignal),
  );
  return server;
}
