// PUTs of few and of many clients beside the bare upsert of pgbench on the same server, in turns; and those of a new process.
import type { Context, Sections } from './context.ts';
import { startSeededGlobal } from './fleet.ts';
import { putsOn, startHttpLoad, type Load, type LoadedServer } from './http-load.ts';
import { percentile } from './measure.ts';
import { budgets, metricsOf, type Budget, type Metric } from './metric.ts';
import { Pgbench } from './pgbench.ts';
import type { Settings } from './settings.ts';

const TURNS = 5;
const metric = metricsOf('writes');

type Sizes = Pick<Settings, 'resources' | 'restSeconds'>;
type Stopped = LoadedServer & { readonly stop: () => Promise<void> };
/** @property pgbench upserts a second */
type Turn = { readonly put: Load; readonly pgbench: number };
type Run = (server: LoadedServer, connections: number, warmUpSeconds: number) => Promise<Load>;

const SHARES: readonly (readonly [connections: number, budget: Budget | undefined])[] = [
  [1, budgets.shareOfPgbench1],
  [8, budgets.shareOfPgbench8],
  [64, undefined],
];

export const writes: Sections<Sizes> = {
  names: {
    writes: 'PUTs on 1, 8 and 64 connections beside pgbench, in turns, and the first 1,000 after a start',
  },
  measure: measureWrites,
};

async function measureWrites({ settings, postgres, say }: Context<Sizes>): Promise<Metric[]> {
  const { resources, restSeconds: seconds } = settings;
  const server = await postgres();
  const load = startHttpLoad();
  const run: Run = (at, connections, warmUpSeconds) =>
    load.run(at, { kind: 'put', connections, resources, warmUpSeconds, seconds });
  try {
    const metrics = await measureStarts(() => startSeededGlobal(server, resources), run, say);
    const global = await startSeededGlobal(server, resources);
    const pgbench = await Pgbench.prepare(global.database, resources);
    try {
      for (const [connections, budget] of SHARES) {
        const turns: Turn[] = [];
        for (let turn = 1; turn <= TURNS; turn += 1) {
          say(`writes: ${String(connections)} connections, ${String(turn)} of ${String(TURNS)}`);
          turns.push({
            put: await run(global, connections, 1),
            pgbench: await pgbench.run(connections, seconds),
          });
        }
        metrics.push(...shareMetrics(connections, turns, budget));
      }
    } finally {
      await pgbench.remove();
      await global.stop();
    }
    return metrics;
  } finally {
    await load.end();
  }
}

/** Each turn has a process of its own: nothing of it is warm. */
async function measureStarts(start: () => Promise<Stopped>, run: Run, say: (text: string) => void): Promise<Metric[]> {
  const loads: Load[] = [];
  for (let turn = 1; turn <= TURNS; turn += 1) {
    say(`writes: the first 1,000 after a start, ${String(turn)} of ${String(TURNS)}`);
    const global = await start();
    try {
      loads.push(await run(global, 8, 4));
    } finally {
      await global.stop();
    }
  }
  const of = (read: (load: Load) => number): number => percentile(loads.map(read), 0.5);
  const name = 'first 1,000 PUTs after a start, 8 connections';
  const factor = of(({ firstThousandPerSecond, perSecond }) => firstThousandPerSecond / perSecond);
  const rate = of(({ firstThousandPerSecond }) => firstThousandPerSecond);
  return [metric(name, '/s', rate), metric(`${name}, against the rate later`, '×', factor, { budget: budgets.firstPuts })];
}

function shareMetrics(connections: number, turns: readonly Turn[], budget: Budget | undefined): Metric[] {
  const of = (read: (turn: Turn) => number): number => percentile(turns.map(read), 0.5);
  const name = putsOn(connections);
  const ofMany = (limit: Budget): Budget | undefined => (budget === undefined ? limit : undefined);
  const [rate, floor] = [of(({ put }) => put.perSecond), of(({ pgbench }) => pgbench)];
  const p99 = of(({ put }) => put.p99Ms);
  const share = of(({ put, pgbench }) => put.perSecond / pgbench);
  return [
    metric(`${name}; pgbench`, '/s', rate, { floor, budget: ofMany(budgets.putsPerSecond) }),
    metric(`${name}, p99`, 'ms', p99, { budget: ofMany(budgets.putP99Ms) }),
    metric(`${name}, share of pgbench`, '×', share, { budget }),
  ];
}
