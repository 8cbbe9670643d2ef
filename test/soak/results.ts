// The samples of a soak as metrics. Pure.
import { metricsOf, type Budget, type Metric } from '../../bench/metric.ts';
import type { Actor } from './actor.ts';
import { leftOver, longestSeries, resourcesOf, summedMemory, type Growth, type Sample } from './judge.ts';
import { budgets, leftOverBudget } from './sizes.ts';
import type { ZoneCounts } from './zones.ts';

/** What was found when everything was at rest. */
export type End = {
  readonly sample: Sample;
  /** One line for each wrong row. */
  readonly wrong: readonly string[];
  /** From the last action until the stores were right and nothing more was open than before. */
  readonly seconds: number;
  readonly counts: ZoneCounts;
  /** Resources whose last write was acknowledged, and those of them that are not as acknowledged. */
  readonly checked: number;
  readonly broken: number;
  /** Right writes that were refused. */
  readonly refusals: number;
  /** Processes that did not end with exit code 0. */
  readonly badlyEnded: number;
};

function metric(name: string, unit: string, meridian: number, budget?: Budget): Metric {
  return metricsOf('soak')(name, unit, meridian, { budget });
}

export function actionMetrics({ done, answers }: Pick<Actor, 'done' | 'answers'>, counts: ZoneCounts): Metric[] {
  const statuses = [...answers].toSorted(([one], [other]) => one - other);
  return [
    ...[...done].toSorted().map(([kind, count]) => metric(`actions: ${kind}`, '', count)),
    ...statuses.map(([status, count]) => metric(`answers: ${status === 0 ? 'none' : String(status)}`, '', count)),
    metric('responses that fake zones refused', '', counts.refused),
    metric('connections that fake zones lost', '', counts.failures),
  ];
}

/** Files and resources of each role: how many more there are after than before. */
export function leftMetrics(before: Sample, after: Sample): Metric[] {
  const counts = { files: leftOver(before, after, ({ files }) => files), resources: leftOver(before, after, resourcesOf) };
  return Object.entries(counts).flatMap(([what, left]) =>
    left.map(({ role, before: had, after: has }) => {
      const processes = before.processes.filter((one) => one.role === role).length;
      return metric(`${what} of ${role}: more than the ${String(had)} before`, '', has - had, leftOverBudget(processes));
    }),
  );
}

export function endMetrics({ seconds, wrong, checked, broken, refusals, counts, badlyEnded }: End): Metric[] {
  return [
    metric('until everything was at rest', 's', seconds),
    metric('wrong rows in stores at the end', '', wrong.length, budgets.none),
    metric('acknowledged writes that were checked', '', checked),
    metric('acknowledged writes that are not there', '', broken, budgets.none),
    metric('right writes that were refused', '', refusals, budgets.none),
    metric('responses of fake zones that global refused', '', counts.refusedByPeer, budgets.none),
    metric('processes that did not end in order', '', badlyEnded, budgets.none),
  ];
}

/** @param processes how many control planes there are */
export function memoryMetrics(samples: readonly Sample[], processes: number): Metric[] {
  const sum = summedMemory(samples, processes);
  const all: readonly Growth[] = [...longestSeries(samples), ...(sum === null ? [] : [sum])];
  return all.flatMap(({ name, seconds, secondMb, lastMb }) => [
    metric(`memory of ${name}, second quarter of ${seconds.toFixed(0)} s`, 'MB', secondMb),
    metric(`memory of ${name}, last quarter against the second`, '×', lastMb / secondMb, budgets.growth),
  ]);
}
