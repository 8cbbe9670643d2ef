// `meridian_insights_waiting`: the zones whose insights of proxies wait for their turn.
import { Gauge, type Registry } from 'prom-client';
import type { InsightRateLimiter } from '../kds/insights/insight-rate-limiter.ts';

/** @param limiter the limiter that each scrape reads */
export function createInsightsMetric(registry: Registry, limiter: Pick<InsightRateLimiter, 'waiting'>): void {
  new Gauge({
    name: 'meridian_insights_waiting',
    help: 'Zones whose insights of proxies wait for their turn on this replica of global',
    registers: [registry],
    collect() {
      this.set(limiter.waiting);
    },
  });
}
