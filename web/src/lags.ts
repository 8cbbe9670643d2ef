// How far zones were behind since this tab was opened: the control plane does not keep it. Bounded in number and age.
import { signal } from '@preact/signals';
import { onEvent } from './events.ts';

export type Lag = { readonly at: number; readonly zone: string; readonly ms: number };

const MAX_LAGS = 20_000;
export const KEPT_MS = 600_000;

/** The oldest first. */
export const lags = signal<readonly Lag[]>([]);

export function followLags(): void {
  onEvent((event) => {
    if (event?.topic !== 'lag') return;
    const at = Date.now();
    const kept = lags.value.slice(-MAX_LAGS).filter((lag) => at - lag.at < KEPT_MS);
    lags.value = [...kept, ...event.data.items.map(({ name, lagMs }) => ({ at, zone: name, ms: lagMs }))];
  });
}
