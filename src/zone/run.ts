// A zone control plane: it sends its own resources to global and stores those of global. It can also run without a global.
import { readFile } from 'node:fs/promises';
import { sanitizedConfig, type Config } from '../base/config.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { productVersion } from '../base/version.ts';
import { runHost, type Context, type Host } from '../control-plane/host.ts';
import { requireReadable } from '../base/readable-files.ts';
import { aborted, together } from '../base/supervise.ts';
import { Changelog } from '../kds/log/changelog.ts';
import { runKdsClient, type KdsClientOptions, type KdsClientTls } from '../kds/client/client.ts';
import { validateResource } from '../resource/validate-spec.ts';
import { ANY_ZONE } from '../resource/zone-profile.ts';
import { readTokenEnd, readTokenFile } from '../token/read-token-file.ts';
import { clusterAdmission } from '../peering/cluster-guard.ts';
import { FenceWatch } from '../store/fence-watch.ts';
import { ownStoreId } from '../peering/peer-identity.ts';
import { createZoneDefaults } from '../defaults/zone-defaults.ts';
import { backendRefsReconciler } from '../reconcile/backend-refs/plan-conditions.ts';
import { runIdentities } from '../reconcile/identities/run-identities.ts';
import { reconcile, type Reconciler } from '../reconcile/reconcile.ts';
import { GLOBAL } from '../receipts/receipts.ts';
import { servicesReconciler, type ServicesOptions } from '../reconcile/services/services-reconciler.ts';
import { workloadsReconciler } from '../reconcile/workloads/plan-workloads.ts';
import { askEnvoy } from '../proxy-status/envoy-dumps.ts';
import { proxyServer, serveProxies } from './serve-proxies.ts';

/** Runs a zone until the signal aborts. Rejects with a MeridianError if it cannot start. */
export async function run(config: Config, context: Context): Promise<void> {
  const { name, globalAddress } = config.multizone.zone;
  if (globalAddress !== '') await requireReadable(filesOf(config));
  await runHost({
    side: { mode: 'zone', zone: name, hasGlobal: globalAddress !== '' },
    config,
    context,
    start,
    proxyAdmin: (store) => (dataplane, kind, options) => askEnvoy({ store, clock: context.clock }, dataplane, kind, options),
  });
}

async function start(host: Host): Promise<void> {
  const { config, store, clock, onLeader } = host;
  const { name, globalAddress, identityChangeDelay } = config.multizone.zone;
  const hasGlobal = globalAddress !== '';
  if (hasGlobal)
    host.expiries.zoneTokens(async () => {
      const end = await readTokenEnd(config.multizone.zone.kds.auth.tokenFile);
      return new Map(end === null ? [] : [[name, end]]);
    });
  onLeader(async (signal) => {
    await createZoneDefaults(store, { name, hasGlobal }, config.defaults);
    if (hasGlobal) await joinGlobal(host, signal);
    else await aborted(signal);
  });
  // Only the leader computes rows, with or without a global (policies 9.3: everything in the zone, nothing on global).
  const run = (component: string, make: (log: Logger) => Reconciler): void => {
    const log = host.log.child({ component });
    onLeader((signal) => reconcile(make(log), { store, log, clock }, signal));
  };
  run('services', (log) => servicesReconciler({ ...servicesOptions(config), log }));
  run('workloads', () => workloadsReconciler(name));
  run('backend-refs', () => backendRefsReconciler(name));
  const identityLog = host.log.child({ component: 'identities' });
  onLeader((signal) =>
    runIdentities({ store, zone: name, otherZonesMs: hasGlobal ? identityChangeDelay : 0, log: identityLog, clock }, signal),
  );
  await serveProxies(host, proxyServer(host).serve);
}

function servicesOptions({ meshService, ipam, multizone, xdsServer }: Config): Omit<ServicesOptions, 'log'> {
  return {
    zone: multizone.zone.name,
    graceMs: meshService.generationInterval === 0 ? null : meshService.deletionGracePeriod,
    reconnectMs: xdsServer.dataplaneDeregistrationDelay,
    vipNetworks: {
      MeshService: ipam.meshService.cidr,
      MeshExternalService: ipam.meshExternalService.cidr,
      MeshMultiZoneService: ipam.meshMultiZoneService.cidr,
    },
  };
}

/** Only the leader connects to global (kds-wire 2.1). */
async function joinGlobal(host: Host, signal: AbortSignal): Promise<void> {
  const { config, store, clock, log, receipts } = host;
  const { name, globalAddress, acceptNewCluster, kds } = config.multizone.zone;
  const changelog = new Changelog(store, host.rules, log, clock);
  const fences = new FenceWatch(store, { clock, log });
  const address = new URL(globalAddress);
  const options: KdsClientOptions = {
    zone: name,
    storeId: await ownStoreId(store),
    address: address.host,
    // Both check all files first: one error then names all missing files.
    tls: async () => {
      await requireReadable(filesOf(config));
      return await tlsOf(config);
    },
    authorization: async () => {
      await requireReadable(filesOf(config));
      return await readTokenFile(kds.auth.tokenFile);
    },
    maxMessageBytes: kds.maxMsgSize,
    node: { version: productVersion, instanceId: host.instanceId, config: JSON.stringify(sanitizedConfig(config)) },
    changelog,
    store,
    fences,
    admission: async () => (acceptNewCluster ? null : await clusterAdmission(store, globalAddress, clock)),
    validate: validateResource,
    observe: host.observe,
    answerAdmin: async (kind, { resourceMesh, resourceName, option, usedOnly }) => {
      const options = {
        json: kind === 'configDump' || option === 1,
        usedOnly,
        includeEds: kind === 'configDump' && option === 1,
      };
      return await askEnvoy({ store, clock }, { mesh: resourceMesh, name: resourceName }, kind, options);
    },
    senders: host.senders,
    link: host.link,
    clock,
    log: log.child({ component: 'kds' }),
  };
  const stopReceipts = receipts.serve(changelog, { names: () => [GLOBAL], profileOf: () => ANY_ZONE });
  try {
    await together(
      signal,
      (either) => changelog.run(either),
      (either) => fences.run(either),
      (either) => runKdsClient(options, either),
    );
  } finally {
    stopReceipts();
  }
}

/** The files of a connection to global. Each must exist at the start; the zone waits for a file that disappears later. */
function filesOf({ multizone }: Config): Record<string, string> {
  const { globalAddress, kds } = multizone.zone;
  const tls = globalAddress.startsWith('grpcs://');
  return {
    'multizone.zone.kds.rootCaFile': tls ? kds.rootCaFile : '',
    'multizone.zone.kds.tlsCertFile': tls ? kds.tlsCertFile : '',
    'multizone.zone.kds.tlsKeyFile': tls ? kds.tlsKeyFile : '',
    'multizone.zone.kds.auth.tokenFile': kds.auth.tokenFile,
  };
}

async function tlsOf({ multizone }: Config): Promise<KdsClientTls | null> {
  const { globalAddress, kds } = multizone.zone;
  if (!globalAddress.startsWith('grpcs://')) return null;
  const read = async (key: 'rootCaFile' | 'tlsCertFile' | 'tlsKeyFile'): Promise<Buffer> =>
    await readFile(kds[key]).catch((cause: unknown) => {
      throw new MeridianError('config', `multizone.zone.kds.${key}: ${kds[key]} cannot be read: ${messageOf(cause)}`, { cause });
    });
  return {
    rootCa: kds.rootCaFile === '' ? null : await read('rootCaFile'),
    skipVerify: kds.tlsSkipVerify,
    identity: kds.tlsCertFile === '' ? null : { cert: await read('tlsCertFile'), key: await read('tlsKeyFile') },
  };
}
