// Many policies are changed at once by REST: how long until the last change is in the last zone.
import type { Fleet } from './fleet.ts';
import { budgets, type Metric } from './metric.ts';

export async function measureBurst(fleet: Fleet, changes: number): Promise<number> {
  // Distinct policies: two changes of one may rightly arrive as one.
  return (await fleet.change(Math.min(changes, fleet.size.resources))) / 1000;
}

export function burstMetrics(changes: number, meridian: number, floor: number): Metric[] {
  const name = `${String(changes)} changes at once, the last everywhere`;
  return [{ section: 'burst', name, unit: 's', budget: budgets.burstSeconds, meridian, floor }];
}
