// `meridian_zone_store_conflict`: the zones with two stores.
import { Gauge, type Registry } from 'prom-client';

/** @param conflicts the function that each scrape calls for the names of zones */
export function createConflictMetric(registry: Registry, conflicts: () => readonly string[]): void {
  new Gauge({
    name: 'meridian_zone_store_conflict',
    help: '1 while a second control plane of another database claims to be the zone',
    labelNames: ['zone_name'],
    registers: [registry],
    collect() {
      this.reset();
      for (const zone of conflicts()) this.set({ zone_name: zone }, 1);
    },
  });
}
