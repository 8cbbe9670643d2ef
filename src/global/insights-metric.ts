// `meridian_insights_waiting`: the zones whose insights of proxies wait for their turn.
import { Gauge, type Registry } from 'prom-client';
import type { InsightTurns } from '../kds/insights/insight-turns.ts';

/** @param turns read at each scrape */
export function createInsightsMetric(registry: Registry, turns: Pick<InsightTurns, 'waiting'>): void {
  new Gauge({
    name: 'meridian_insights_waiting',
    help: 'Zones whose insights of proxies wait for their turn on this replica of global',
    registers: [registry],
    collect() {
      this.set(turns.waiting);
    },
  });
}
