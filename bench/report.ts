// The results of a run for people (tables) and for programs (JSON), with the machine.
import { cpus, loadavg, totalmem } from 'node:os';
import { table } from '../src/cli/views/table.ts';
import type { Measured } from './measure-sections.ts';
import { isWithin, type Budget, type Metric } from './metric.ts';
import type { Postgres } from './postgres.ts';

/** For which sizes budgets were set: at others nothing is judged by them. */
export type Judged<S> = {
  /** For people: `50 zones × 5,000 resources`. */
  readonly sizes: string;
  readonly by: (metric: Metric, settings: S) => boolean;
};

export type Report = {
  readonly date: string;
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    /** Processes that wanted a core in the last minute, those of the run among them. */
    readonly load: number;
    readonly memoryGb: number;
    readonly node: string;
    /** Null where no section needed one. */
    readonly postgres: Postgres['facts'] | null;
  };
  readonly settings: Readonly<Record<string, number>>;
  readonly metrics: readonly (Metric & { readonly ratio: number | null; readonly verdict: Verdict })[];
  /** A sentence for each part that could not be measured. */
  readonly failed: readonly string[];
};

type Verdict = 'ok' | 'over' | 'none';
type Found = Measured & { readonly postgres: Postgres['facts'] | null };

export function makeReport<S>(
  { fixedSizes, judged }: { readonly fixedSizes?: Readonly<Record<string, number>>; readonly judged?: Judged<S> },
  settings: S,
  { postgres, metrics, failed }: Found,
): Report {
  return {
    date: new Date().toISOString(),
    machine: {
      ...{ cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, load: loadavg()[0] ?? 0 },
      ...{ memoryGb: Math.round(totalmem() / 1e9), node: process.version, postgres },
    },
    settings: { ...fixedSizes, ...settings },
    metrics: metrics.map((metric) => {
      const isJudged = metric.budget !== undefined && (judged?.by(metric, settings) ?? true);
      return { ...metric, ratio: ratioOf(metric), verdict: isJudged ? (isWithin(metric) ? 'ok' : 'over') : 'none' };
    }),
    failed,
  };
}

/** @param sizes those that the budgets are for */
export function describeReport({ machine, metrics, failed, date }: Report, sizes = 'other sizes'): string {
  const { postgres, cores, memoryGb, load } = machine;
  const lines = [
    `${machine.cpu}, ${String(cores)} cores, ${String(memoryGb)} GB, load ${load.toFixed(1)}; Node ${machine.node}; ${date}`,
    postgres === null
      ? 'No PostgreSQL server: what is stored is in the embedded one.'
      : `PostgreSQL ${postgres.version} (${postgres.provider}), fsync ${postgres.fsync}. Clients and database share the machine.`,
    '',
    metricTable(metrics),
  ];
  if (metrics.some(({ budget, verdict }) => budget !== undefined && verdict === 'none'))
    lines.push('', `Budgets are for ${sizes}; at these sizes they are not judged.`);
  if (failed.length > 0) lines.push('', ...failed);
  return lines.join('\n');
}

/** The floor has columns where something was compared with it, and the spread where one is known. */
function metricTable(metrics: Report['metrics']): string {
  const hasFloor = metrics.some(({ floor }) => floor !== undefined);
  const hasSpread = metrics.some(({ spread }) => spread !== undefined);
  return table(
    ['METRIC', 'MERIDIAN', ...(hasSpread ? ['LEAST – MOST'] : []), ...(hasFloor ? ['FLOOR', 'RATIO'] : []), 'BUDGET', ''],
    metrics.map(({ section, name, unit, meridian, spread, floor, ratio, budget, verdict }) => [
      `${section}: ${name}`,
      `${show(meridian)} ${unit}`,
      ...(hasSpread ? [spread === undefined ? '-' : spread.map(show).join(' – ')] : []),
      ...(hasFloor ? [floor === undefined ? '-' : `${show(floor)} ${unit}`, ratio === null ? '-' : show(ratio)] : []),
      budget === undefined ? '-' : describeBudget(budget),
      verdict === 'none' ? '' : verdict,
    ]),
  );
}

function ratioOf({ meridian, floor }: Metric): number | null {
  return floor === undefined || floor === 0 ? null : meridian / floor;
}

function describeBudget({ most, least, timesFloor }: Budget): string {
  if (least !== undefined) return `≥ ${show(least)}`;
  const limit = `≤ ${show(most ?? NaN)}`;
  return timesFloor === undefined ? limit : `${limit} or ${show(timesFloor)} × floor`;
}

/** Three digits that count. */
function show(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}
