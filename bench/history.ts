// What the history of resources costs a PUT: two globals on one server, one of them on a database that keeps no history; they take turns.
import type { Context, Sections } from './context.ts';
import { startSeededGlobal } from './fleet.ts';
import { putsOn, startHttpLoad, type Load, type LoadedServer } from './http-load.ts';
import { percentile } from './measure.ts';
import { budgets, metricsOf, type Metric } from './metric.ts';
import { withDatabase } from './postgres.ts';
import type { Settings } from './settings.ts';

const WARM_UP_SECONDS = 1.5;
/** Each round has new processes: what the compiler of V8 makes of a process differs by more than the history costs. */
const ROUNDS = 5;
const TURNS_OF_A_ROUND = 2;
/** The few writes first: the server cleans up after the many for a minute. */
const CONNECTIONS = [1, 64] as const;
/** The triggers of statements notify and keep nothing; that of a row still notifies, and finds no type with a history. */
const WITHOUT_HISTORY = `drop trigger meridian_history_deleted on resources;
  create or replace function meridian_has_history(kind text) returns boolean language sql immutable as 'select false';
  ${notifying('inserted', 'insert', 'new table as changed')}
  ${notifying('updated', 'update', 'old table as before new table as changed')}`;

type Sizes = Pick<Settings, 'resources' | 'restSeconds'>;
/** Two turns, one after the other. */
type Pair = { readonly connections: number; readonly kept: Load; readonly plain: Load };

export const historyCost: Sections<Sizes> = {
  names: { history: 'PUTs with the history of resources and without it, in turns, on 64 connections and on one' },
  measure: async (context) => {
    const pairs: Pair[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) pairs.push(...(await measureRound(context, round)));
    return CONNECTIONS.flatMap((connections) => historyMetrics(pairs, connections));
  },
};

/** A trigger of statements that notifies alone, with its condition. */
function notifying(name: string, event: string, tables: string): string {
  return `create or replace trigger meridian_${name} after ${event} on resources referencing ${tables} for each statement
    when ((current_setting('meridian.authors', true) like 'row%') is not true) execute function meridian_notify();`;
}

async function measureRound({ settings, postgres, say }: Context<Sizes>, round: number): Promise<Pair[]> {
  const { resources, restSeconds: seconds } = settings;
  const server = await postgres();
  const [kept, plain] = [await startSeededGlobal(server, resources), await startSeededGlobal(server, resources)] as const;
  await withDatabase(plain.database, async (client) => void (await client.query(WITHOUT_HISTORY)));
  const load = startHttpLoad();
  const pairs: Pair[] = [];
  try {
    for (const connections of CONNECTIONS) {
      say(`history: PUT on ${String(connections)} connections, ${String(round)} of ${String(ROUNDS)}`);
      const turn = (global: LoadedServer): Promise<Load> =>
        load.run(global, { kind: 'put', connections, resources, warmUpSeconds: WARM_UP_SECONDS, seconds });
      for (let pair = 0; pair < TURNS_OF_A_ROUND; pair += 1) {
        // In turns: the second has the work that the database does after the first.
        if (pair % 2 === 0) pairs.push({ connections, kept: await turn(kept), plain: await turn(plain) });
        else pairs.push({ connections, plain: await turn(plain), kept: await turn(kept) });
      }
    }
  } finally {
    await load.end();
    await kept.stop();
    await plain.stop();
  }
  return pairs;
}

function historyMetrics(all: readonly Pair[], connections: number): Metric[] {
  const pairs = all.filter((pair) => pair.connections === connections);
  const name = putsOn(connections);
  const of = (read: (pair: Pair) => number): number => percentile(pairs.map(read), 0.5);
  const cpu = ({ serverUs, databaseUs }: Load): number => serverUs + databaseUs;
  const [metric, more] = [metricsOf('history'), { budget: budgets.historyFactor }];
  return [
    metric(
      `${name}: CPU of server and database`,
      'µs',
      of(({ kept }) => cpu(kept)),
    ),
    metric(
      `${name}: CPU with history against without`,
      '×',
      of(({ kept, plain }) => cpu(kept) / cpu(plain)),
      more,
    ),
    metric(
      `${name}: time with history against without`,
      '×',
      of(({ kept, plain }) => plain.perSecond / kept.perSecond),
      more,
    ),
  ];
}
