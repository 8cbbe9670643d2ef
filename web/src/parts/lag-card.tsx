import type { JSX } from 'preact';
import { KEPT_MS, lags } from '../lags.ts';
import { now } from '../live.ts';
import { lasting } from '../words.ts';
import { TimeChart } from './time-chart.tsx';

/** How far a zone was behind in the last minutes, as far as this tab has seen it. */
export function LagCard({ zone }: { readonly zone: string }): JSX.Element {
  const points = lags.value
    .filter((lag) => lag.zone === zone && lag.ms > 0)
    .map(({ at, ms }) => ({ at, ms, tone: 'late' as const, title: `${lasting(ms)} behind` }));
  const most = Math.max(0, ...points.map(({ ms }) => ms));
  const to = Math.max(now.value, ...points.map(({ at }) => at));
  return (
    <section class="card" aria-label="Lag">
      <div class="bar">
        <h2>Lag</h2>
        <span class="soft end">{points.length === 0 ? '' : `at most ${lasting(most)}`}</span>
      </div>
      {points.length === 0 ? (
        <p class="none">Never more than a moment behind since this tab was opened</p>
      ) : (
        <div class="body">
          <TimeChart label={`At most ${lasting(most)} behind`} points={points} from={to - KEPT_MS} to={to} />
        </div>
      )}
    </section>
  );
}
