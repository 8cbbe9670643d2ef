// PUTs of few and of many clients beside the bare upsert on the same server, in turns: that of pgbench, and that of a bare HTTP server,
// which is what this language can do; and a new process.
import { endChild, nextMessage, startLikeMeridian, startScript } from './children.ts';
import type { Context, Sections } from './context.ts';
import { startSeededGlobal } from './fleet.ts';
import type { FloorWritesCommand, FloorWritesReport } from './floor-writes-process.ts';
import type { LoadCommand, LoadReport } from './http-load-process.ts';
import { cpuSeconds, percentile } from './measure.ts';
import { budgets, type Budget, type Metric } from './metric.ts';
import { Pgbench } from './pgbench.ts';
import { databaseCpuSeconds } from './postgres.ts';
import type { PostgresConfig } from '../src/store/database.ts';
import type { Settings } from './settings.ts';

const TURNS = 5;
const WARM_UP_SECONDS = 1;
const section = 'writes';

type Sizes = Pick<Settings, 'resources' | 'restSeconds'>;
type Global = Awaited<ReturnType<typeof startSeededGlobal>>;
type Server = Pick<Global, 'pid' | 'apiPort' | 'database'>;
/** @property cpuUs of a PUT: microseconds of the server and of the database */
type Load = Exclude<LoadReport, { failure: string }> & { readonly cpuUs: number };
/**
 * Of one turn: PUTs to Meridian and to the bare HTTP server.
 * @property pgbench bare upserts of pgbench a second
 * @property statement the statement of a PUT in pgbench a second
 */
type Turn = { readonly put: Load; readonly bare: Load; readonly pgbench: number; readonly statement: number };

export const writes: Sections<Sizes> = {
  names: {
    writes: 'PUTs on 1, 8 and 64 connections beside pgbench and a bare HTTP server, in turns, and the first 1,000 after a start',
  },
  measure: measureWrites,
};

const SHARES: readonly (readonly [connections: number, budget: Budget | undefined])[] = [
  [1, budgets.shareOfPgbench1],
  [8, budgets.shareOfPgbench8],
  [64, undefined],
];

async function measureWrites({ settings, postgres, say }: Context<Sizes>): Promise<Metric[]> {
  const { resources, restSeconds: seconds } = settings;
  const server = await postgres();
  const client = startScript('http-load-process.ts');
  const load = async (
    { apiPort: port, pid, database }: Server,
    connections: number,
    more: Partial<LoadCommand>,
  ): Promise<Load> => {
    const sizes = { connections, resources, warmUpSeconds: WARM_UP_SECONDS, seconds, ...more };
    const used = async (): Promise<number> => cpuSeconds(pid) + (await databaseCpuSeconds(database));
    const before = await used();
    client.send({ kind: 'put', port, ...sizes } satisfies LoadCommand);
    const report = await nextMessage<LoadReport>(client);
    if ('failure' in report) throw new Error(`PUTs on ${String(connections)} connections: ${report.failure}`);
    return { ...report, cpuUs: (((await used()) - before) / report.answers) * 1e6 };
  };
  try {
    const metrics = await measureStarts(() => startSeededGlobal(server, resources), load, say);
    const global = await startSeededGlobal(server, resources);
    const pgbench = await Pgbench.prepare(global.database, resources);
    const bare = await startBareServer(global.database);
    try {
      for (const [connections, budget] of SHARES) {
        const turns: Turn[] = [];
        for (let turn = 1; turn <= TURNS; turn += 1) {
          say(`writes: ${String(connections)} connections, ${String(turn)} of ${String(TURNS)}`);
          turns.push({
            put: await load(global, connections, {}),
            bare: await load(bare, connections, {}),
            pgbench: await pgbench.run('upsert', connections, seconds),
            statement: await pgbench.run('put', connections, seconds),
          });
        }
        metrics.push(...shareMetrics(connections, turns, budget));
      }
    } finally {
      await bare.stop();
      await pgbench.remove();
      await global.stop();
    }
    return metrics;
  } finally {
    await endChild(client);
  }
}

/** An HTTP server that writes to the table of pgbench. */
async function startBareServer(database: PostgresConfig): Promise<Server & { stop: () => Promise<void> }> {
  const child = startLikeMeridian('floor-writes-process.ts');
  child.send({ database } satisfies FloorWritesCommand);
  const { apiPort } = await nextMessage<FloorWritesReport>(child);
  return { pid: child.pid ?? 0, apiPort, database, stop: () => endChild(child) };
}

/** Each turn has a process of its own: nothing of it is warm. */
async function measureStarts(
  start: () => Promise<Global>,
  load: (global: Global, connections: number, more: Partial<LoadCommand>) => Promise<Load>,
  say: (text: string) => void,
): Promise<Metric[]> {
  const factors: number[] = [];
  const rates: number[] = [];
  for (let turn = 1; turn <= TURNS; turn += 1) {
    say(`writes: the first 1,000 after a start, ${String(turn)} of ${String(TURNS)}`);
    const global = await start();
    try {
      const { perSecond, firstThousandPerSecond } = await load(global, 8, { warmUpSeconds: 4 });
      rates.push(firstThousandPerSecond);
      factors.push(firstThousandPerSecond / perSecond);
    } finally {
      await global.stop();
    }
  }
  const name = 'first 1,000 PUTs after a start, 8 connections';
  return [
    { section, name, unit: '/s', meridian: percentile(rates, 0.5) },
    {
      section,
      name: `${name}, against the rate later`,
      unit: '×',
      meridian: percentile(factors, 0.5),
      budget: budgets.firstPuts,
    },
  ];
}

function shareMetrics(connections: number, turns: readonly Turn[], budget: Budget | undefined): Metric[] {
  const of = (read: (turn: Turn) => number): number => percentile(turns.map(read), 0.5);
  const name = `PUT, ${String(connections)} ${connections === 1 ? 'connection' : 'connections'}`;
  const isMany = budget === undefined;
  const rate = of(({ put }) => put.perSecond);
  return [
    {
      ...{ section, name: `${name}; pgbench`, unit: '/s', meridian: rate, floor: of(({ pgbench }) => pgbench) },
      ...(isMany && { budget: budgets.putsPerSecond }),
    },
    { section, name: `${name}; its statement in pgbench`, unit: '/s', meridian: rate, floor: of(({ statement }) => statement) },
    {
      ...{ section, name: `${name}, p99; bare HTTP server`, unit: 'ms' },
      ...{ meridian: of(({ put }) => put.p99Ms), floor: of(({ bare }) => bare.p99Ms) },
      ...(isMany && { budget: budgets.putP99Ms }),
    },
    { section, name: `${name}; bare HTTP server`, unit: '/s', meridian: rate, floor: of(({ bare }) => bare.perSecond) },
    {
      ...{ section, name: `${name}: CPU of server and database; bare HTTP server`, unit: 'µs' },
      ...{ meridian: of(({ put }) => put.cpuUs), floor: of(({ bare }) => bare.cpuUs) },
    },
    {
      ...{ section, name: `${name}, share of pgbench; bare HTTP server`, unit: '×' },
      ...{
        meridian: of(({ put, pgbench }) => put.perSecond / pgbench),
        floor: of(({ bare, pgbench }) => bare.perSecond / pgbench),
      },
      ...(budget !== undefined && { budget }),
    },
  ];
}
