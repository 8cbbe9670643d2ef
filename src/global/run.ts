// The global control plane: what its REST API stores goes to every zone, and what zones send is kept and passed on.
import { readFile } from 'node:fs/promises';
import { systemClock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { createAuthority } from '../base/self-signed.ts';
import { productVersion } from '../base/version.ts';
import { runHost, type Context, type Host } from '../control-plane/host.ts';
import { aborted } from '../control-plane/supervise.ts';
import { sinkOf, sourceOf } from '../control-plane/store-ports.ts';
import { AdminStreams } from '../kds/admin-streams.ts';
import { Changelog } from '../kds/changelog.ts';
import { globalSendRules } from '../kds/rules.ts';
import { KdsServer, type KdsServerOptions } from '../kds/server.ts';
import { validateResource } from '../resource/validate-spec.ts';
import { createGlobalDefaults } from './create-defaults.ts';
import { createProxyAdmin } from './proxy-admin.ts';
import { StoreZoneRegistry } from './store-zone-registry.ts';
import { runSubscriptionFinalizer } from './subscription-finalizer.ts';

/** Runs a global until the signal aborts. Rejects with a MeridianError if it cannot start. */
export async function run(config: Config, context: Context): Promise<void> {
  const admin = new AdminStreams();
  await runHost({
    side: { mode: 'global' },
    config,
    context,
    start: (host) => start(host, admin),
    proxyAdmin: (store) => createProxyAdmin(store, admin),
  });
}

async function start(host: Host, admin: AdminStreams): Promise<void> {
  const { config, store, log, component, onLeader } = host;
  const zones = new StoreZoneRegistry(store);
  const changelog = new Changelog(sourceOf(store), globalSendRules(), log);
  zones.onChange((zone) => {
    changelog.touchZone(zone);
    if (!zones.names().includes(zone)) host.metrics.forget(zone);
  });
  component('zone registry', (signal) => zones.run(signal));
  component('changelog', (signal) => changelog.run(signal));
  onLeader(async (signal) => {
    await createGlobalDefaults(store, config.defaults);
    await aborted(signal);
  });
  onLeader((signal) => runSubscriptionFinalizer({ store, log, clock: systemClock }, signal));
  await Promise.all([changelog.ready, zones.loaded]);
  await serveZones(host, changelog, zones, admin);
}

async function serveZones(host: Host, changelog: Changelog, zones: StoreZoneRegistry, admin: AdminStreams): Promise<void> {
  const { config, store, log, signal, metrics, insights } = host;
  const { kds } = config.multizone.global;
  const server = new KdsServer({
    host: '0.0.0.0',
    port: kds.grpcPort,
    tls: await tlsOf(config),
    maxMessageBytes: kds.maxMsgSize,
    node: { version: productVersion, instanceId: host.instanceId, config: '' },
    changelog,
    zones,
    admin,
    sinkOf: (zone) => sinkOf(store, zone),
    validate: validateResource,
    observe: (event) => {
      metrics.observe(event);
      insights.observe(event);
    },
    log: log.child({ component: 'kds' }),
  });
  const port = await server.listen();
  log.info({ port, tls: kds.tlsEnabled }, 'zones can connect');
  host.component('kds server', async () => {
    await aborted(signal);
    await server.close();
  });
}

/** The configured certificate, else one signed by a CA made for this process; null where TLS is off. */
async function tlsOf({ general, multizone }: Config): Promise<KdsServerOptions['tls']> {
  const { kds } = multizone.global;
  if (!kds.tlsEnabled) return null;
  const certFile = kds.tlsCertFile || general.tlsCertFile;
  const keyFile = kds.tlsKeyFile || general.tlsKeyFile;
  if (certFile !== '' && keyFile !== '') return { cert: await readFile(certFile), key: await readFile(keyFile) };
  const authority = await createAuthority('meridian');
  const { certPem, keyPem } = await authority.issue({ hosts: ['localhost', '127.0.0.1'] });
  return { cert: Buffer.from(certPem), key: Buffer.from(keyPem) };
}
