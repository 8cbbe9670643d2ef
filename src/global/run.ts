// The global control plane: it sends the resources of its REST API to every zone, and stores and forwards the resources of zones.
import type { Config } from '../base/config.ts';
import { productVersion } from '../base/version.ts';
import { runHost, type Context, type Host } from '../control-plane/host.ts';
import { runInSlices } from '../base/steps.ts';
import { serverTls } from '../base/server-tls.ts';
import { aborted, unlessAborted } from '../base/supervise.ts';
import { AdminStreams } from '../kds/protocol/admin-streams.ts';
import { Changelog } from '../kds/log/changelog.ts';
import { membershipChange } from '../kds/log/membership-change.ts';
import { InsightRateLimiter } from '../kds/insights/insight-rate-limiter.ts';
import { KdsServer } from '../kds/server/server.ts';
import { onwardAnswers } from '../receipts/onward-answers.ts';
import { rolloutFollower } from '../receipts/receipt-routes.ts';
import { validateResource } from '../resource/validate-spec.ts';
import { FenceWatch } from '../store/fence-watch.ts';
import { admitZones } from './admit-zones.ts';
import { createGlobalDefaults } from '../defaults/global-defaults.ts';
import { createProxyAdmin } from './proxy-admin.ts';
import { StoreAdmission } from '../peering/store-admission.ts';
import { createConflictMetric } from '../peering/conflict-metric.ts';
import { createInsightsMetric } from './insights-metric.ts';
import { createWaitingMetric } from './waiting-metric.ts';
import { KnownZones } from '../peering/known-zones.ts';
import { ZoneSharing } from '../replicas/zone-sharing.ts';
import { TakeoverGuard } from '../takeover/takeover-guard.ts';
import { runSubscriptionFinalizer } from '../subscriptions/subscription-finalizer.ts';

/** Milliseconds of a long answer between two looks at other work. */
const SLICE_MS = 10;

/** Runs a global until the signal aborts. Rejects with a MeridianError if it cannot start. */
export async function run(config: Config, context: Context): Promise<void> {
  const admin = new AdminStreams(context.clock);
  await runHost({
    side: { mode: 'global' },
    config,
    context,
    start: (host) => start(host, admin),
    proxyAdmin: (store) => createProxyAdmin(store, admin),
  });
}

async function start(host: Host, admin: AdminStreams): Promise<void> {
  const { config, store, clock, log, component, onLeader } = host;
  const zones = new KnownZones(store, { clock, log });
  const changelog = new Changelog(store, host.rules, log, clock);
  host.insights.fleetSize = () => zones.size;
  host.membership.notForwarded = () =>
    new Map(zones.names().map((zone) => [zone, changelog.notForwarded(zone, zones.profileOf(zone))] as const));
  host.membership.changeOf = async (change) => {
    const features = host.senders.featuresOf(change.zone) ?? null;
    const view = { features, profileOf: (zone: string) => zones.profileOf(zone) };
    return await runInSlices(membershipChange(changelog, change, view), SLICE_MS, clock);
  };
  const stopReceipts = host.receipts.serve(changelog, { names: () => zones.names(), profileOf: (zone) => zones.profileOf(zone) });
  zones.onChange((change) => {
    changelog.touchZone(change);
    const { zone } = change;
    if (zones.has(zone)) return;
    host.metrics.forget(zone);
    host.insights.forget(zone);
    host.receipts.changes.forget(zone);
  });
  host.onStop('receipts', async () => stopReceipts());
  component('zone registry', (signal) => zones.run(signal));
  component('changelog', (signal) => changelog.run(signal));
  onLeader(async (signal) => {
    await createGlobalDefaults(store, config.defaults);
    await aborted(signal);
  });
  onLeader((signal) => runSubscriptionFinalizer({ type: 'ZoneInsight', store, log, clock }, signal));
  await unlessAborted(host.signal, Promise.all([changelog.ready, zones.loaded]));
  await serveZones(host, changelog, zones, admin);
}

async function serveZones(host: Host, changelog: Changelog, zones: KnownZones, admin: AdminStreams): Promise<void> {
  const { config, store, clock, log, insights, receipts, instanceId } = host;
  const stores = new StoreAdmission({ store, instanceId, clock, log });
  const fences = new FenceWatch(store, { clock, log });
  host.component('fences', (fencesSignal) => fences.run(fencesSignal));
  host.component('zone stores', (storesSignal) => stores.run(storesSignal));
  createConflictMetric(host.registry, () => [...stores.conflicts(), ...insights.contended()]);
  const { kds } = config.multizone.global;
  const tls = kds.tlsEnabled ? await serverTls('multizone.global.kds', kds, config.general, host.clock) : null;
  const insightLimiter = new InsightRateLimiter({ clock, fleetSize: () => zones.size, ownZones: () => insights.size });
  createInsightsMetric(host.registry, insightLimiter);
  const server = new KdsServer({
    host: '0.0.0.0',
    port: kds.grpcPort,
    tls,
    admit: admitZones(host),
    maxMessageBytes: kds.maxMsgSize,
    quotas: kds.quotas,
    connections: kds.connections,
    health: kds.zoneHealthCheck,
    node: { version: productVersion, instanceId: host.instanceId, config: '' },
    changelog,
    zones,
    stores,
    admin,
    answerZone: onwardAnswers({ store, rules: host.rules, receipts, follow: rolloutFollower(receipts, host.rules, store) }),
    store,
    fences,
    proxyInsights: config.multizone.global.insights,
    insightLimiter,
    validate: validateResource,
    observe: host.observe,
    senders: host.senders,
    clock,
    log: log.child({ component: 'kds' }),
  });
  host.onStop('KDS server', () => server.close());
  createWaitingMetric(host.registry, () => server.waiting);
  shareZones(host, server);
  await openToZones(host, server);
  if (tls !== null) host.expiries.certificate('kds', tls.endsAt);
  if (tls !== null)
    host.component('kds certificate', async (tlsSignal) => {
      await tls.follow((material) => server.replaceTls(material), tlsSignal, log);
      await aborted(tlsSignal);
    });
}

/** Listens at once, or on a database of Kuma when its zones lose nothing by it. */
async function openToZones({ config, store, clock, log, takeover, component }: Host, server: KdsServer): Promise<void> {
  const { kds, takeover: settings } = config.multizone.global;
  const open = async (): Promise<void> => {
    const port = await server.listen();
    log.info({ port, tls: kds.tlsEnabled }, 'zones can connect');
  };
  const release = settings.release === '' ? null : settings.release === '2' ? 2 : 3;
  const guard = new TakeoverGuard({ store, accept: settings.accept, release, clock, log });
  takeover.kinds = () => guard.kinds();
  if (await guard.passes()) {
    await open();
    return;
  }
  component('takeover', async (signal) => {
    await guard.passed(signal);
    await open();
    await aborted(signal);
  });
}

/** Moves zones to other replicas: some while this one has too many, all when it stops. */
function shareZones({ config, roster, clock, log, component, onDrain }: Host, server: KdsServer): void {
  if (config.store.type !== 'postgres') return;
  const { sharing: settings, drainTime } = config.multizone.global.kds;
  const zones = {
    count: () => server.zoneCount,
    movable: (minAgeMs: number) => server.movableZones(minAgeMs),
    has: (zone: string) => server.hasZone(zone),
    move: (moved: ReadonlySet<string>) => server.moveZones(moved),
  };
  const sharing = new ZoneSharing({ roster, zones, settings, clock, log });
  component('sharing of zones', (signal) => sharing.run(signal));
  onDrain(async () => {
    // Without another replica the zones gain nothing by a slow end.
    const hasOthers = roster.sharers().length > 1;
    await roster.setDraining();
    await server.drain(hasOthers ? drainTime : 0);
  });
}
