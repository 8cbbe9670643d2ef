// `meridian demo`: a global and two zones as three processes, the shop applied, and a table of the resources on each.
import { join } from 'node:path';
import { Listr } from 'listr2';
import { messageOf } from '../../base/errors.ts';
import { visibleText } from '../../base/visible-text.ts';
import { label } from '../../resource/labels.ts';
import type { Labels } from '../../resource/types.ts';
import { ApiClient } from '../client/api-client.ts';
import { planApply, sendPlan } from '../documents/apply-requests.ts';
import { startFleet, ZONES, type Fleet } from './fleet.ts';
import { measureHops, type Hop } from './hops.ts';
import type { AppliedResource } from './placement.ts';
import { ingressOf, verifyInStep, type Verified } from './verify.ts';
import { readDocuments } from '../documents/read-files.ts';
import { print } from '../output.ts';
import { describeDocument } from '../views/problem-text.ts';
import { table } from '../views/table.ts';

const SHOP = join(import.meta.dirname, '../../../examples/shop');

/** @returns the exit code: 0 if everything was verified (and, without `once`, the user stopped it) */
export async function demo({ once }: { once: boolean }): Promise<number> {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort());
  let fleet: Fleet | undefined;
  try {
    const result = await work({ freePorts: once, signal: stop.signal }, (started) => (fleet = started));
    show(result, fleet);
    if (!once && fleet !== undefined) {
      print('\nCtrl-C stops everything.');
      await Promise.race([
        fleet.broken,
        new Promise((resolve) => stop.signal.addEventListener('abort', resolve, { once: true })),
      ]);
    }
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return once ? 1 : 0;
    process.stderr.write(`meridian demo: ${visibleText(messageOf(error))}\n`);
    return 1;
  } finally {
    if (fleet !== undefined) {
      await fleet.stop();
      print(once ? 'All stopped.' : '\nAll stopped; nothing is left behind.');
    }
  }
}

type Result = { verified: Verified[]; hops: Hop[] };

async function work(options: { freePorts: boolean; signal: AbortSignal }, onFleet: (fleet: Fleet) => void): Promise<Result> {
  const result: Result = { verified: [], hops: [] };
  const applied: AppliedResource[] = [];
  let addresses = new Map<string, string>();
  const tasks = new Listr(
    [
      {
        title: 'Start global, east and west (a fresh store each takes a few seconds)',
        task: async () => {
          const fleet = await startFleet(options);
          onFleet(fleet);
          addresses = new Map(fleet.members.map(({ name, api }) => [name, api]));
        },
      },
      {
        title: 'Apply examples/shop',
        task: async (_context, task) => {
          await applyShop(addresses, 'global', applied);
          // The zones must have the meshes before resources are written to them there.
          await verifyInStep(
            addresses,
            applied.filter(({ info }) => info.name === 'Mesh'),
            options.signal,
          );
          for (const zone of ZONES) await applyShop(addresses, zone, applied);
          task.title = `Apply examples/shop: ${String(applied.length)} resources`;
        },
      },
      {
        title: 'Verify that every control plane holds exactly the expected resources',
        task: async () => void (result.verified = await verifyInStep(addresses, applied, options.signal)),
      },
      { title: 'Measure the hops', task: async () => void (result.hops = await measureHops(addresses)) },
    ],
    { fallbackRendererCondition: () => !process.stdout.isTTY, fallbackRenderer: 'simple' },
  );
  await tasks.run();
  return result;
}

async function applyShop(addresses: ReadonlyMap<string, string>, at: string, applied: AppliedResource[]): Promise<void> {
  const documents = await readDocuments([join(SHOP, at)], 'shop');
  const client = new ApiClient(addresses.get(at) ?? '');
  for await (const part of sendPlan(client, await planApply(client, documents), { dryRun: false }))
    for (const { document } of part) {
      const { info, mesh, name, body } = document;
      applied.push({ at, info, mesh, name, labels: (body['labels'] ?? {}) as Labels });
    }
}

function show({ verified, hops }: Result, fleet: Fleet | undefined): void {
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
  print(
    `\nREST APIs:\n${table(
      ['CONTROL PLANE', 'URL'],
      (fleet?.members ?? []).map(({ name, api }) => [name, api]),
    )}`,
  );
  const west = fleet?.members.find(({ name }) => name === 'west')?.api ?? '';
  print(
    `\nTry:\n  bin/meridian get meshservices --mesh shop --address ${west}\n  bin/meridian get meshtimeouts -A -o wide\n  bin/meridian inspect zones`,
  );
}
