// `meridian demo`: a global and two zones as three processes, the shop applied, and a table of the resources on each.
import { join } from 'node:path';
import { Listr } from 'listr2';
import { messageOf } from '../../base/errors.ts';
import { visibleText } from '../../base/visible-text.ts';
import { label } from '../../resource/labels.ts';
import type { Labels } from '../../resource/types.ts';
import { ApiClient } from '../client/api-client.ts';
import { planApply, sendPlan } from '../documents/apply-requests.ts';
import { measureCrossings, measureFailover, type Crossing, type Failover } from './crossing.ts';
import { envoyOfDemo, type DemoEnvoy } from './envoy-of-demo.ts';
import { startFleet, ZONES, type Fleet } from './fleet.ts';
import { measureHops, type Hop } from './hops.ts';
import type { AppliedResource } from './placement.ts';
import { measureTraffic, type ZoneTraffic } from './requests.ts';
import { ShopProxies } from './shop-proxies.ts';
import { crossingText, trafficText } from './traffic-text.ts';
import { ingressOf, verifyInStep, type Verified } from './verify.ts';
import { readDocuments, type ResourceDocument } from '../documents/read-files.ts';
import { print } from '../output.ts';
import { stopSignals } from '../stop-signals.ts';
import { describeDocument } from '../views/problem-text.ts';
import { table } from '../views/table.ts';

const SHOP = join(import.meta.dirname, '../../../examples/shop');

type DemoOptions = {
  /** Verify and stop. */
  readonly once: boolean;
  /** If it is false, the demo looks for no Envoy. */
  readonly envoy: boolean;
};

/** @returns the exit code: 0 if everything was verified (and, without `once`, the user stopped it) */
export async function demo({ once, envoy }: DemoOptions): Promise<number> {
  const stop = new AbortController();
  for (const name of stopSignals) process.on(name, () => stop.abort());
  // The output has no reader. Without --once nothing would end the demo. main.ts keeps the process until all is stopped.
  if (!once) process.stdout.on('error', () => stop.abort());
  let fleet: Fleet | undefined;
  const proxies = new ShopProxies();
  try {
    const result = await work({ freePorts: once, envoy, proxies, signal: stop.signal }, (started) => (fleet = started));
    if (!once && fleet !== undefined) print(`\nThe page: ${pageOf(fleet)}`);
    show(result, fleet);
    // The control planes of --once are gone when a person reads this.
    if (!once) showCommands(fleet, proxies);
    if (!once && fleet !== undefined) {
      print('\nCtrl-C stops everything.');
      await Promise.race([
        fleet.broken,
        new Promise<void>((resolve) => {
          if (stop.signal.aborted) resolve();
          stop.signal.addEventListener('abort', () => resolve(), { once: true });
        }),
      ]);
    }
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return once ? 1 : 0;
    process.stderr.write(`meridian demo: ${visibleText(messageOf(error))}\n`);
    return 1;
  } finally {
    await proxies.stop();
    if (fleet !== undefined) {
      await fleet.stop();
      print(once ? 'All stopped.' : '\nAll stopped; nothing is left behind.');
    }
  }
}

type Result = {
  verified: Verified[];
  hops: Hop[];
  envoy: DemoEnvoy;
  traffic: ZoneTraffic[];
  crossings: Crossing[];
  failover: Failover | null;
};
type Work = { freePorts: boolean; envoy: boolean; proxies: ShopProxies; signal: AbortSignal };

async function work(options: Work, onFleet: (fleet: Fleet) => void): Promise<Result> {
  const { proxies, signal } = options;
  const envoy = { missing: '--no-envoy was given' };
  const result: Result = { verified: [], hops: [], envoy, traffic: [], crossings: [], failover: null };
  const program = (): string | null => ('path' in result.envoy ? result.envoy.path : null);
  let fleet: Fleet;
  const applied: AppliedResource[] = [];
  let addresses = new Map<string, string>();
  const tasks = new Listr(
    [
      {
        title: 'Find an Envoy',
        enabled: options.envoy,
        task: async (_context, task) => {
          result.envoy = await envoyOfDemo(signal, (line) => (task.output = line));
          const { envoy } = result;
          task.title = 'path' in envoy ? `Find an Envoy: ${envoy.path} (${envoy.from})` : `Find an Envoy: ${envoy.missing}`;
        },
      },
      {
        title: 'Start global, east and west (a fresh store each takes a few seconds)',
        task: async (_context, task) => {
          fleet = await startFleet(options);
          onFleet(fleet);
          task.title = `Start global, east and west: the page is ${pageOf(fleet)}`;
          addresses = new Map(fleet.members.map(({ name, api }) => [name, api]));
        },
      },
      {
        title: 'Apply examples/shop',
        task: async (_context, task) => {
          await applyShop(addresses, 'global', await documentsOf('global'), applied);
          // The zones must have the meshes before resources are written to them there.
          await verifyInStep(
            addresses,
            applied.filter(({ info }) => info.name === 'Mesh'),
            signal,
          );
          for (const zone of ZONES) {
            const documents = await documentsOf(zone);
            const placed = program() === null ? documents : await proxies.place(zone, documents);
            await applyShop(addresses, zone, placed, applied);
          }
          task.title = `Apply examples/shop: ${String(applied.length)} resources`;
        },
      },
      {
        title: 'Verify that every control plane holds exactly the expected resources',
        task: async () => void (result.verified = await verifyInStep(addresses, applied, signal)),
      },
      { title: 'Measure the hops', task: async () => void (result.hops = await measureHops(addresses)) },
      {
        title: 'Start carts, a catalog and a zone ingress behind Envoys in east and west',
        enabled: () => options.envoy,
        skip: () => program() === null,
        task: async () => {
          await proxies.start(fleet, program() ?? '', signal);
          // The services have their ingress from then on.
          result.verified = await verifyInStep(addresses, applied, signal);
        },
      },
      {
        title: 'Send requests',
        enabled: () => options.envoy,
        skip: () => program() === null,
        task: async () => {
          result.traffic = await measureTraffic(proxies.zones, addresses.get('global') ?? '', signal);
        },
      },
      {
        title: 'Send requests from zone to zone',
        enabled: () => options.envoy,
        skip: () => program() === null,
        task: async () => {
          result.crossings = await measureCrossings(proxies.zones, signal);
          const [other, taken] = proxies.zones;
          if (other === undefined || taken === undefined) return;
          result.failover = await measureFailover(taken, other.zone, addresses.get(taken.zone) ?? '', signal);
        },
      },
    ],
    { fallbackRendererCondition: () => !process.stdout.isTTY, fallbackRenderer: 'simple' },
  );
  await tasks.run();
  return result;
}

async function documentsOf(at: string): Promise<ResourceDocument[]> {
  return await readDocuments([join(SHOP, at)], 'shop');
}

async function applyShop(
  addresses: ReadonlyMap<string, string>,
  at: string,
  documents: readonly ResourceDocument[],
  applied: AppliedResource[],
): Promise<void> {
  const client = new ApiClient(addresses.get(at) ?? '');
  for await (const part of sendPlan(client, await planApply(client, documents), { dryRun: false }))
    for (const { document } of part) {
      const { info, mesh, name, body } = document;
      applied.push({ at, info, mesh, name, labels: (body['labels'] ?? {}) as Labels });
    }
}

function show({ verified, hops, envoy, traffic, crossings, failover }: Result, fleet: Fleet | undefined): void {
  const rows = verified.flatMap(({ resource, holdings }) =>
    holdings.map(({ place, storedName, item }, index) => [
      index === 0 ? describeDocument(resource) : '',
      place,
      storedName,
      [label.origin, label.zone]
        .flatMap((key) => (item.labels?.[key] === undefined ? [] : [`${key.slice('kuma.io/'.length)}=${item.labels[key]}`]))
        .concat(resource.info.name === 'MeshService' ? [`ingress=${ingressOf(item) ?? '-'}`] : [])
        .join(' '),
    ]),
  );
  print(`\nWhere each resource is:\n${table(['RESOURCE', 'ON', 'STORED NAME', 'LABELS'], rows)}`);
  print(`\nFrom an acknowledged write here to the row there, median of 5:`);
  print(
    table(
      ['FROM', 'TO', 'WHAT', 'TIME'],
      hops.map(({ from, to, what, medianMs }) => [from, to, what, `${medianMs.toFixed(1)} ms`]),
    ),
  );
  print(trafficText(envoy, traffic));
  const crossed = crossingText(crossings, failover);
  if (crossed !== '') print(crossed);
  print(
    `\nREST APIs:\n${table(
      ['CONTROL PLANE', 'URL'],
      (fleet?.members ?? []).map(({ name, api }) => [name, api]),
    )}`,
  );
}

/** The address of the page of global. */
function pageOf({ members }: Fleet): string {
  return `${members.find(({ name }) => name === 'global')?.api ?? ''}/gui`;
}

function showCommands(fleet: Fleet | undefined, proxies: ShopProxies): void {
  const west = fleet?.members.find(({ name }) => name === 'west')?.api ?? '';
  const [shop] = proxies.zones;
  const ask =
    shop === undefined ? '' : `  curl http://127.0.0.1:${String(shop.carts)}/    as the catalog of ${shop.zone} asks a cart\n`;
  print(
    `\nTry:\n${ask}  bin/meridian get meshservices --mesh shop --address ${west}\n  bin/meridian get meshtimeouts -A -o wide\n  bin/meridian inspect zones\n  bin/meridian inspect service catalog --mesh shop`,
  );
}
