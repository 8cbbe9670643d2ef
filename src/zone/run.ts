// A zone control plane: what is written here goes to global, what global has is kept here. Without a global it runs alone.
import { readFile } from 'node:fs/promises';
import type { ProxyAdmin } from '../api/proxy-admin-routes.ts';
import { sanitizedConfig, type Config } from '../base/config.ts';
import { MeridianError } from '../base/errors.ts';
import { productVersion } from '../base/version.ts';
import { runHost, type Context, type Host } from '../control-plane/host.ts';
import { sinkOf, sourceOf } from '../control-plane/store-ports.ts';
import { aborted } from '../control-plane/supervise.ts';
import { Changelog } from '../kds/changelog.ts';
import { runKdsClient, type KdsClientOptions } from '../kds/client.ts';
import { zoneSendRules } from '../kds/rules.ts';
import { validateResource } from '../resource/validate-spec.ts';
import { clusterAdmission } from './cluster-guard.ts';
import { createZoneDefaults } from './create-defaults.ts';

/** Runs a zone until the signal aborts. Rejects with a MeridianError if it cannot start. */
export async function run(config: Config, context: Context): Promise<void> {
  const { name, globalAddress } = config.multizone.zone;
  await runHost({
    side: { mode: 'zone', zone: name, hasGlobal: globalAddress !== '' },
    config,
    context,
    start,
    proxyAdmin: () => noProxies,
  });
}

/** No proxy connects to this control plane yet. */
const noProxies: ProxyAdmin = (dataplane) =>
  Promise.reject(
    new MeridianError('unavailable', `no proxy of Dataplane ${JSON.stringify(dataplane.name)} is connected to this zone`),
  );

async function start(host: Host): Promise<void> {
  const { config, store, onLeader } = host;
  const { name, globalAddress } = config.multizone.zone;
  const hasGlobal = globalAddress !== '';
  onLeader(async (signal) => {
    await createZoneDefaults(store, { name, hasGlobal }, config.defaults);
    if (hasGlobal) await joinGlobal(host, signal);
    else await aborted(signal);
  });
}

/** The leader alone dials global (kds-wire 2.1). */
async function joinGlobal(host: Host, signal: AbortSignal): Promise<void> {
  const { config, store, log, metrics, insights } = host;
  const { name, globalAddress, acceptNewCluster, kds } = config.multizone.zone;
  const changelog = new Changelog(sourceOf(store), zoneSendRules({ zone: name }), log);
  const address = new URL(globalAddress);
  const client = runKdsClient(
    {
      zone: name,
      address: address.host,
      tls: await tlsOf(config),
      maxMessageBytes: kds.maxMsgSize,
      node: { version: productVersion, instanceId: host.instanceId, config: JSON.stringify(sanitizedConfig(config)) },
      changelog,
      sink: sinkOf(store, 'global'),
      admission: async () => (acceptNewCluster ? null : await clusterAdmission(store, globalAddress)),
      validate: validateResource,
      observe: (event) => {
        metrics.observe(event);
        insights.observe(event);
      },
      log: log.child({ component: 'kds' }),
    },
    signal,
  );
  await Promise.all([changelog.run(signal), client]);
}

async function tlsOf({ multizone }: Config): Promise<KdsClientOptions['tls']> {
  const { globalAddress, kds } = multizone.zone;
  if (!globalAddress.startsWith('grpcs://')) return null;
  return { rootCa: kds.rootCaFile === '' ? null : await readFile(kds.rootCaFile), skipVerify: kds.tlsSkipVerify };
}
