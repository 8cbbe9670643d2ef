// One policy is changed by REST, again and again: how long until the last zone has it, and what it costs the server.
import type { Fleet } from './fleet.ts';
import { cpuSeconds, percentile } from './measure.ts';
import { budgets, compare, type Metric } from './metric.ts';

export type Changed = { readonly p50Ms: number; readonly p99Ms: number; readonly cpuMs: number };

/** @param sizes.warmUp changes before the counted ones: the first run in code that is not compiled yet */
export async function measureChanges(fleet: Fleet, sizes: { warmUp: number; changes: number }): Promise<Changed> {
  for (let count = 0; count < sizes.warmUp; count += 1) await fleet.change();
  const latencies: number[] = [];
  const before = cpuSeconds(fleet.pid);
  for (let count = 0; count < sizes.changes; count += 1) latencies.push(await fleet.change());
  const cpuMs = ((cpuSeconds(fleet.pid) - before) * 1000) / sizes.changes;
  return { p50Ms: percentile(latencies, 0.5), p99Ms: percentile(latencies, 0.99), cpuMs };
}

export function changeMetrics(meridian: Changed, floor: Changed): Metric[] {
  const metric = compare('change', meridian, floor);
  return [
    metric('p50Ms', 'PUT to the last zone, p50', 'ms', budgets.changeP50Ms),
    metric('p99Ms', 'PUT to the last zone, p99', 'ms', budgets.changeP99Ms),
    metric('cpuMs', 'CPU of the server a change', 'ms', budgets.changeCpuMs),
  ];
}
