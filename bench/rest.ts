// The REST API of a global under load, without zones; the client has its own process but shares the machine.
import type { Context } from './context.ts';
import { endChild, nextMessage, startScript } from './children.ts';
import { startSeededGlobal } from './fleet.ts';
import { cpuSeconds } from './measure.ts';
import pg from 'pg';
import { clientConfig } from './postgres.ts';
import { TYPE } from './policies.ts';
import type { PostgresConfig } from '../src/store/database.ts';
import type { LoadCommand, LoadReport } from './http-load-process.ts';
import { budgets, type Metric } from './metric.ts';

const WARM_UP_SECONDS = 1.5;

export async function measureRest({ settings, postgres, say }: Context): Promise<Metric[]> {
  const { resources, restSeconds: seconds } = settings;
  const global = await startSeededGlobal(postgres, resources);
  const client = startScript('http-load-process.ts');
  const load = async (kind: LoadCommand['kind'], connections: number): Promise<Load> => {
    say(`REST: ${kind} on ${String(connections)} connections for ${String(seconds)} s`);
    const { apiPort: port } = global;
    const command: LoadCommand = { kind, port, connections, resources, warmUpSeconds: WARM_UP_SECONDS, seconds };
    client.send(command);
    const cpuBefore = cpuSeconds(global.pid);
    const report = await nextMessage<LoadReport>(client);
    if ('failure' in report) throw new Error(`REST ${kind}: ${report.failure}`);
    return { ...report, cpuUs: ((cpuSeconds(global.pid) - cpuBefore) / report.answers) * 1e6 };
  };
  try {
    const get = await load('get', 8);
    const page = await load('page', 8);
    const put = await load('put', 64);
    const lost = put.answers - (await countUpdates(global.database));
    const section = 'rest';
    return [
      { section, name: 'PUT, 64 connections', unit: '/s', meridian: put.perSecond, budget: budgets.putsPerSecond },
      { section, name: 'PUT, 64 connections, p99', unit: 'ms', meridian: put.p99Ms, budget: budgets.putP99Ms },
      { section, name: 'PUTs that were acknowledged and are not in the table', unit: '', meridian: lost, budget: { most: 0 } },
      { section, name: 'CPU of the server a PUT', unit: 'µs', meridian: put.cpuUs },
      { section, name: 'CPU of the server a GET of one', unit: 'µs', meridian: get.cpuUs },
      { section, name: 'CPU of the server a page', unit: 'µs', meridian: page.cpuUs },
      { section, name: 'GET of one, 8 connections', unit: '/s', meridian: get.perSecond, budget: budgets.getsPerSecond },
      {
        ...{ section, name: `GET of 100 of ${String(resources)}, 8 connections`, unit: '/s' },
        ...{ meridian: page.perSecond, budget: budgets.pagesPerSecond },
      },
    ];
  } finally {
    await endChild(client);
    await global.stop();
  }
}

type Load = { readonly perSecond: number; readonly p99Ms: number; readonly answers: number; readonly cpuUs: number };

/** Every update raises the version of its row by one, from 0. */
async function countUpdates(database: PostgresConfig): Promise<number> {
  const client = new pg.Client(clientConfig(database));
  await client.connect();
  try {
    const { rows } = await client.query<{ n: number }>('select sum(version)::int as n from resources where type = $1', [TYPE]);
    return rows[0]?.n ?? 0;
  } finally {
    await client.end();
  }
}
