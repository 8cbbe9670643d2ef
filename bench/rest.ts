// The REST API of a global under load, without zones; the client has its own process but shares the machine.
import type { PostgresConfig } from '../src/store/database.ts';
import type { Context, Sections } from './context.ts';
import { startSeededGlobal } from './fleet.ts';
import { startHttpLoad, type Load, type LoadSizes } from './http-load.ts';
import { budgets, metricsOf, type Metric } from './metric.ts';
import { TYPE } from './policies.ts';
import { withDatabase } from './postgres.ts';
import type { Settings } from './settings.ts';

const WARM_UP_SECONDS = 1.5;
const metric = metricsOf('rest');

type Sizes = Pick<Settings, 'resources' | 'restSeconds'>;

/** All kinds of requests, as one section. */
export const rest: Sections<Sizes> = {
  names: { rest: 'requests a second' },
  measure: (context) => measureRest(context, new Set(Object.keys(restKinds.names))),
};

/** Each kind of request as a section. */
export const restKinds: Sections<Sizes> = {
  names: {
    get: 'GET of one, on 8 connections',
    page: 'GET of a page of 100, on 8 connections',
    put: 'PUT of one, on 64 connections, and whether all that was acknowledged is in the table',
  },
  measure: measureRest,
};

async function measureRest({ settings, postgres, say }: Context<Sizes>, wanted: ReadonlySet<string>): Promise<Metric[]> {
  const { resources, restSeconds: seconds } = settings;
  const global = await startSeededGlobal(await postgres(), resources);
  const load = startHttpLoad();
  const run = async (kind: LoadSizes['kind'], connections: number): Promise<Load> => {
    say(`REST: ${kind} on ${String(connections)} connections for ${String(seconds)} s`);
    return await load.run(global, { kind, connections, resources, warmUpSeconds: WARM_UP_SECONDS, seconds });
  };
  try {
    const metrics: Metric[] = [];
    if (wanted.has('get')) {
      const { perSecond } = await run('get', 8);
      metrics.push(metric('GET of one, 8 connections', '/s', perSecond, { budget: budgets.getsPerSecond }));
    }
    if (wanted.has('page')) {
      const { perSecond } = await run('page', 8);
      const name = `GET of 100 of ${String(resources)}, 8 connections`;
      metrics.push(metric(name, '/s', perSecond, { budget: budgets.pagesPerSecond }));
    }
    if (wanted.has('put')) {
      const before = await countUpdates(global.database);
      const { perSecond, p99Ms, answers } = await run('put', 64);
      const lost = answers - ((await countUpdates(global.database)) - before);
      metrics.push(metric('PUT, 64 connections', '/s', perSecond, { budget: budgets.putsPerSecond }));
      metrics.push(metric('PUT, 64 connections, p99', 'ms', p99Ms, { budget: budgets.putP99Ms }));
      metrics.push(metric('PUTs that were acknowledged and are not in the table', '', lost, { budget: { most: 0 } }));
    }
    return metrics;
  } finally {
    await load.end();
    await global.stop();
  }
}

/** Every update raises the version of its row by one, from 0. */
async function countUpdates(database: PostgresConfig): Promise<number> {
  return await withDatabase(database, async (client) => {
    const { rows } = await client.query<{ n: number }>('select sum(version)::int as n from resources where type = $1', [TYPE]);
    return rows[0]?.n ?? 0;
  });
}
