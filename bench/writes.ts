// PUTs of few and of many clients beside pgbench, which does the bare upsert on the same server in turns; and a new process.
import { endChild, nextMessage, startScript } from './children.ts';
import type { Context, Sections } from './context.ts';
import { startSeededGlobal } from './fleet.ts';
import type { LoadCommand, LoadReport } from './http-load-process.ts';
import { percentile } from './measure.ts';
import { budgets, type Budget, type Metric } from './metric.ts';
import { Pgbench } from './pgbench.ts';
import type { Settings } from './settings.ts';

const TURNS = 5;
const WARM_UP_SECONDS = 1;
const section = 'writes';

type Sizes = Pick<Settings, 'resources' | 'restSeconds'>;
type Global = Awaited<ReturnType<typeof startSeededGlobal>>;
type Load = Exclude<LoadReport, { failure: string }>;

export const writes: Sections<Sizes> = {
  names: { writes: 'PUTs on 1, 8 and 64 connections beside pgbench, in turns, and the first 1,000 after a start' },
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
  const load = async (global: Global, connections: number, more: Partial<LoadCommand>): Promise<Load> => {
    const sizes = { connections, resources, warmUpSeconds: WARM_UP_SECONDS, seconds, ...more };
    client.send({ kind: 'put', port: global.apiPort, ...sizes } satisfies LoadCommand);
    const report = await nextMessage<LoadReport>(client);
    if ('failure' in report) throw new Error(`PUTs on ${String(connections)} connections: ${report.failure}`);
    return report;
  };
  try {
    const metrics = await measureStarts(() => startSeededGlobal(server, resources), load, say);
    const global = await startSeededGlobal(server, resources);
    const pgbench = await Pgbench.prepare(global.database, resources);
    try {
      for (const [connections, budget] of SHARES) {
        const turns: { put: Load; floor: number }[] = [];
        for (let turn = 1; turn <= TURNS; turn += 1) {
          say(`writes: ${String(connections)} connections, ${String(turn)} of ${String(TURNS)}`);
          turns.push({ put: await load(global, connections, {}), floor: await pgbench.run(connections, seconds) });
        }
        metrics.push(...shareMetrics(connections, turns, budget));
      }
    } finally {
      await pgbench.remove();
      await global.stop();
    }
    return metrics;
  } finally {
    await endChild(client);
  }
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

function shareMetrics(
  connections: number,
  turns: readonly { readonly put: Load; readonly floor: number }[],
  budget: Budget | undefined,
): Metric[] {
  const of = (read: (turn: (typeof turns)[number]) => number): number => percentile(turns.map(read), 0.5);
  const name = `PUT, ${String(connections)} ${connections === 1 ? 'connection' : 'connections'}`;
  const isMany = budget === undefined;
  return [
    {
      ...{ section, name, unit: '/s', meridian: of(({ put }) => put.perSecond), floor: of(({ floor }) => floor) },
      ...(isMany && { budget: budgets.putsPerSecond }),
    },
    {
      ...{ section, name: `${name}, p99`, unit: 'ms', meridian: of(({ put }) => put.p99Ms) },
      ...(isMany && { budget: budgets.putP99Ms }),
    },
    {
      ...{ section, name: `${name}, share of pgbench`, unit: '×', meridian: of(({ put, floor }) => put.perSecond / floor) },
      ...(budget !== undefined && { budget }),
    },
  ];
}
