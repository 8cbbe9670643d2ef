// `meridian_zones_waiting`: the zones that wait until they may connect, and the longest wait.
import { Gauge, type Registry } from 'prom-client';

/** @param waiting the function that each scrape calls */
export function createWaitingMetric(
  registry: Registry,
  waiting: () => { readonly zones: number; readonly longestMs: number },
): void {
  new Gauge({
    name: 'meridian_zones_waiting',
    help: 'Zones that wait until this replica of global has time for their first state',
    registers: [registry],
    collect() {
      this.set(waiting().zones);
    },
  });
  new Gauge({
    name: 'meridian_zones_waiting_seconds',
    help: 'The longest of these waits',
    registers: [registry],
    collect() {
      this.set(waiting().longestMs / 1_000);
    },
  });
}
