// What a run found, for people (tables) and for programs (JSON), with the machine it was found on.
import { cpus, totalmem } from 'node:os';
import { table } from '../src/cli/output.ts';
import { isWithin, type Budget, type Metric } from './metric.ts';
import type { Postgres } from './postgres.ts';
import type { ScalingRow } from './scaling.ts';
import { isReference, type Settings } from './settings.ts';

export type Report = {
  readonly date: string;
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly memoryGb: number;
    readonly node: string;
    readonly postgres: Postgres['facts'];
  };
  readonly settings: Settings;
  readonly metrics: readonly (Metric & { readonly ratio: number | null; readonly verdict: Verdict })[];
  readonly scaling: readonly ScalingRow[];
};

type Verdict = 'ok' | 'over' | 'none';

export function makeReport(
  settings: Settings,
  postgres: Postgres['facts'],
  metrics: readonly Metric[],
  scaling: readonly ScalingRow[],
): Report {
  return {
    date: new Date().toISOString(),
    machine: {
      ...{ cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, memoryGb: Math.round(totalmem() / 1e9) },
      ...{ node: process.version, postgres },
    },
    settings,
    metrics: metrics.map((metric) => ({ ...metric, ratio: ratioOf(metric), verdict: verdictOf(metric, settings) })),
    scaling,
  };
}

export function describeReport({ machine, settings, metrics, scaling, date }: Report): string {
  const { postgres } = machine;
  const lines = [
    `${machine.cpu}, ${String(machine.cores)} cores, ${String(machine.memoryGb)} GB; Node ${machine.node}; ${date}`,
    `PostgreSQL ${postgres.version} (${postgres.provider}), fsync ${postgres.fsync}. Clients and database share the machine.`,
    '',
    table(
      ['METRIC', 'MERIDIAN', 'FLOOR', 'RATIO', 'BUDGET', ''],
      metrics.map((metric) => [
        `${metric.section}: ${metric.name}`,
        `${show(metric.meridian)} ${metric.unit}`,
        metric.floor === undefined ? '-' : `${show(metric.floor)} ${metric.unit}`,
        metric.ratio === null ? '-' : show(metric.ratio),
        metric.budget === undefined ? '-' : describeBudget(metric.budget),
        metric.verdict === 'none' ? '' : metric.verdict,
      ]),
    ),
  ];
  if (!isReference(settings)) lines.push('', 'Budgets are for 50 zones × 5,000 resources; at these sizes they are not judged.');
  if (scaling.length > 0) lines.push('', scalingTable(scaling));
  return lines.join('\n');
}

function scalingTable(rows: readonly ScalingRow[]): string {
  return table(
    ['ZONES', 'RESOURCES', 'JOIN S', 'JOIN CPU S', 'CHANGE P50 MS', 'CPU MS', 'CPU µS A ZONE', 'MEMORY MB', 'KB A ZONE'],
    rows.map((row) => [
      ...[String(row.zones), String(row.resources), show(row.joinSeconds), show(row.joinCpuSeconds), show(row.changeP50Ms)],
      ...[show(row.changeCpuMs), show(row.cpuPerZoneUs), show(row.memoryMb), show(row.memoryPerZoneKb)],
    ]),
  );
}

function ratioOf({ meridian, floor }: Metric): number | null {
  return floor === undefined || floor === 0 ? null : meridian / floor;
}

/** Scaling has sizes of its own; the rest is judged at the sizes the budgets were set for. */
function verdictOf(metric: Metric, settings: Settings): Verdict {
  const isJudged = metric.section === 'scaling' || isReference(settings) || metric.budget?.zones === settings.zones;
  if (metric.budget === undefined || !isJudged) return 'none';
  return isWithin(metric) ? 'ok' : 'over';
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
