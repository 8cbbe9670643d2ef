// The REST API of a global under load, without zones; the client has its own process but shares the machine.
import { setTimeout as delay } from 'node:timers/promises';
import type { Context, Sections } from './context.ts';
import { endChild, nextMessage, startScript } from './children.ts';
import { startSeededGlobal } from './fleet.ts';
import { cpuNanoseconds, cpuSeconds, percentile } from './measure.ts';
import { databaseCpuSeconds, withDatabase } from './postgres.ts';
import { policyBody, policyPath, TYPE } from './policies.ts';
import { HttpClient } from './http-client.ts';
import type { PostgresConfig } from '../src/store/database.ts';
import type { LoadCommand, LoadReport } from './http-load-process.ts';
import { budgets, type Metric } from './metric.ts';
import type { Settings } from './settings.ts';

const WARM_UP_SECONDS = 1.5;
const CHANGES_PER_SECOND = 50;

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
    page: 'GET of a page of 100, on 8 connections, while nothing changes and while another resource changes 50 times a second',
    put: 'PUT of one, on 64 connections, and whether all that was acknowledged is in the table',
  },
  measure: measureRest,
};

/** What the history of resources costs a PUT. */
export const historyCost: Sections<Sizes> = {
  names: { history: 'PUTs with the history of resources and without it, in turns, on 64 connections and on one' },
  measure: async (context) => await measureHistory(context),
};

async function measureRest({ settings, postgres, say }: Context<Sizes>, wanted: ReadonlySet<string>): Promise<Metric[]> {
  const { resources, restSeconds: seconds } = settings;
  const global = await startSeededGlobal(await postgres(), resources);
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
    const metrics: Metric[] = [];
    if (wanted.has('get')) metrics.push(...getMetrics(await load('get', 8)));
    if (wanted.has('page')) {
      metrics.push(...pageMetrics(await load('page', 8), resources));
      metrics.push(changingPageMetric(await whileChanging(global.apiPort, resources, () => load('page', 8)), resources));
    }
    if (wanted.has('put')) {
      const before = await countUpdates(global.database);
      const put = await load('put', 64);
      metrics.push(...putMetrics(put, put.answers - ((await countUpdates(global.database)) - before)));
    }
    return metrics;
  } finally {
    await endChild(client);
    await global.stop();
  }
}

/** Each round has new processes: what the compiler of V8 makes of a process differs by more than the history costs. */
const ROUNDS = 5;
const TURNS_OF_A_ROUND = 2;
const CONNECTIONS = [1, 64] as const;
/** The triggers of statements notify and keep nothing; that of a row still notifies, and finds no type with a history. */
const WITHOUT_HISTORY = `drop trigger meridian_history_deleted on resources;
  create or replace function meridian_has_history(kind text) returns boolean language sql immutable as 'select false';
  ${notifying('inserted', 'insert', 'new table as changed')}
  ${notifying('updated', 'update', 'old table as before new table as changed')}`;

/** A trigger of statements that notifies alone, with its condition. */
function notifying(name: string, event: string, tables: string): string {
  return `create or replace trigger meridian_${name} after ${event} on resources referencing ${tables} for each statement
    when ((current_setting('meridian.authors', true) like 'row%') is not true) execute function meridian_notify();`;
}

/** Two globals on one server, one of them on a database that keeps no history; they take turns. */
async function measureHistory(context: Context<Sizes>): Promise<Metric[]> {
  const pairs = new Map<number, Pair[]>(CONNECTIONS.map((connections) => [connections, []]));
  for (let round = 1; round <= ROUNDS; round += 1) await measureRound(context, round, pairs);
  return [...pairs].flatMap(([connections, measured]) => historyMetrics(connections, measured));
}

async function measureRound(
  { settings, postgres, say }: Context<Sizes>,
  round: number,
  pairs: Map<number, Pair[]>,
): Promise<void> {
  const { resources, restSeconds: seconds } = settings;
  const server = await postgres();
  const globals = [await startSeededGlobal(server, resources), await startSeededGlobal(server, resources)] as const;
  await withDatabase(globals[1].database, async (client) => void (await client.query(WITHOUT_HISTORY)));
  const client = startScript('http-load-process.ts');
  const turn = async ({ apiPort: port, pid, database }: (typeof globals)[number], connections: number): Promise<Turn> => {
    const before = [cpuNanoseconds(pid) / 1e9, await databaseCpuSeconds(database)] as const;
    client.send({ kind: 'put', port, connections, resources, warmUpSeconds: WARM_UP_SECONDS, seconds } satisfies LoadCommand);
    const report = await nextMessage<LoadReport>(client);
    if ('failure' in report) throw new Error(`PUT with history: ${report.failure}`);
    const us = (used: number): number => (used / report.answers) * 1e6;
    return {
      ms: (1000 * connections) / report.perSecond,
      serverUs: us(cpuNanoseconds(pid) / 1e9 - before[0]),
      databaseUs: us((await databaseCpuSeconds(database)) - before[1]),
    };
  };
  try {
    const [kept, plain] = globals;
    // The few writes first: the server cleans up after the many for a minute.
    for (const [connections, measured] of pairs) {
      say(`history: PUT on ${String(connections)} connections, ${String(round)} of ${String(ROUNDS)}`);
      for (let pair = 0; pair < TURNS_OF_A_ROUND; pair += 1) {
        // In turns: the second has the work that the database does after the first.
        if (pair % 2 === 0) measured.push({ kept: await turn(kept, connections), plain: await turn(plain, connections) });
        else measured.push({ plain: await turn(plain, connections), kept: await turn(kept, connections) });
      }
    }
  } finally {
    await endChild(client);
    for (const global of globals) await global.stop();
  }
}

/** Of one PUT: milliseconds until its answer, and microseconds of CPU of the server and of the database. */
type Turn = { readonly ms: number; readonly serverUs: number; readonly databaseUs: number };
/** Two turns, one after the other. */
type Pair = { readonly kept: Turn; readonly plain: Turn };

function historyMetrics(connections: number, pairs: readonly Pair[]): Metric[] {
  const name = `PUT, ${String(connections)} ${connections === 1 ? 'connection' : 'connections'}`;
  const of = (read: (pair: (typeof pairs)[number]) => number): number => percentile(pairs.map(read), 0.5);
  const cpu = ({ serverUs, databaseUs }: Turn): number => serverUs + databaseUs;
  return [
    { section: 'history', name: `${name}: CPU of server and database`, unit: 'µs', meridian: of(({ kept }) => cpu(kept)) },
    { section: 'history', name: `${name}: CPU of the database`, unit: 'µs', meridian: of(({ kept }) => kept.databaseUs) },
    { section: 'history', name: `${name}: the same without history`, unit: 'µs', meridian: of(({ plain }) => plain.databaseUs) },
    {
      ...{ section: 'history', name: `${name}: CPU with history against without`, unit: '×' },
      meridian: of(({ kept, plain }) => cpu(kept) / cpu(plain)),
      budget: budgets.historyFactor,
    },
    {
      ...{ section: 'history', name: `${name}: time with history against without`, unit: '×' },
      meridian: of(({ kept, plain }) => kept.ms / plain.ms),
      budget: budgets.historyFactor,
    },
  ];
}

const section = 'rest';

function getMetrics({ perSecond, cpuUs }: Load): Metric[] {
  return [
    { section, name: 'GET of one, 8 connections', unit: '/s', meridian: perSecond, budget: budgets.getsPerSecond },
    { section, name: 'CPU of the server a GET of one', unit: 'µs', meridian: cpuUs },
  ];
}

function pageMetrics({ perSecond, cpuUs }: Load, resources: number): Metric[] {
  const name = `GET of 100 of ${String(resources)}, 8 connections`;
  return [
    { section, name, unit: '/s', meridian: perSecond, budget: budgets.pagesPerSecond },
    { section, name: 'CPU of the server a page', unit: 'µs', meridian: cpuUs },
  ];
}

function changingPageMetric({ perSecond }: Load, resources: number): Metric {
  const name = `GET of 100 of ${String(resources)}, 8 connections, ${String(CHANGES_PER_SECOND)} changes/s meanwhile`;
  return { section, name, unit: '/s', meridian: perSecond };
}

function putMetrics({ perSecond, p99Ms, cpuUs }: Load, lost: number): Metric[] {
  return [
    { section, name: 'PUT, 64 connections', unit: '/s', meridian: perSecond, budget: budgets.putsPerSecond },
    { section, name: 'PUT, 64 connections, p99', unit: 'ms', meridian: p99Ms, budget: budgets.putP99Ms },
    { section, name: 'PUTs that were acknowledged and are not in the table', unit: '', meridian: lost, budget: { most: 0 } },
    { section, name: 'CPU of the server a PUT', unit: 'µs', meridian: cpuUs },
  ];
}

/** Runs `measure` while the last of the resources changes again and again. */
async function whileChanging<T>(port: number, resources: number, measure: () => Promise<T>): Promise<T> {
  const client = new HttpClient(port, 1);
  const done = new AbortController();
  const changing = (async () => {
    for (let revision = 1; !done.signal.aborted; revision += 1) {
      await client.put(policyPath(resources - 1), policyBody(resources - 1, revision));
      await delay(1000 / CHANGES_PER_SECOND, undefined, { signal: done.signal }).catch(() => undefined);
    }
  })();
  try {
    return await Promise.race([measure(), changing.then(() => new Promise<never>(() => undefined))]);
  } finally {
    done.abort();
    await changing.finally(() => client.close());
  }
}

type Load = { readonly perSecond: number; readonly p99Ms: number; readonly answers: number; readonly cpuUs: number };

/** Every update raises the version of its row by one, from 0. */
async function countUpdates(database: PostgresConfig): Promise<number> {
  return await withDatabase(database, async (client) => {
    const { rows } = await client.query<{ n: number }>('select sum(version)::int as n from resources where type = $1', [TYPE]);
    return rows[0]?.n ?? 0;
  });
}
