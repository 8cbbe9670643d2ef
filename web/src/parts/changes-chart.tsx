import type { JSX } from 'preact';
import { now } from '../live.ts';
import { OUTCOME_TONES, subject, type ChangeSummary } from '../receipts.ts';
import { counted, lasting } from '../words.ts';
import { TimeChart } from './time-chart.tsx';

const SPANS_MS = [60_000, 300_000, 900_000, 3_600_000, 21_600_000, 86_400_000];

/** How long the last changes took to their last zone, over a time that has all of them, a day at most. */
export function ChangesChart({ changes }: { readonly changes: readonly ChangeSummary[] }): JSX.Element | null {
  const points = changes.flatMap(({ slowestMs, committedAt, outcome, ...change }) => {
    if (slowestMs === undefined) return [];
    const title = `${subject(change)}: ${lasting(slowestMs)}, ${outcome}`;
    return [{ at: Date.parse(committedAt), ms: slowestMs, tone: OUTCOME_TONES[outcome], title }];
  });
  if (points.length === 0) return null;
  const newest = Math.max(...points.map(({ at }) => at));
  const to = Math.max(now.value, newest);
  const oldest = Math.min(...points.map(({ at }) => at));
  const span = SPANS_MS.find((ms) => to - oldest <= ms) ?? SPANS_MS.at(-1) ?? 0;
  const slowest = Math.max(...points.map(({ ms }) => ms));
  return (
    <TimeChart
      label={`${counted(points.length, 'change')} in ${lasting(span)}, the slowest took ${lasting(slowest)} to its last zone`}
      points={points}
      from={to - span}
      to={to}
    />
  );
}
