// After the join, when nothing changes: CPU and memory of the server with all its zones connected.
import { setTimeout as delay } from 'node:timers/promises';
import type { Fleet } from './fleet.ts';
import { cpuSeconds, memoryMb, nowMs } from './measure.ts';
import { budgets, compare, type Metric } from './metric.ts';

export type Idle = { readonly cpuPercent: number; readonly memoryMb: number; readonly memoryBeforeMb: number };

/** Time for the work that the join leaves, before the fleet counts as idle. */
const SETTLE_MS = 2_000;

export async function measureIdle(fleet: Fleet, seconds: number): Promise<Idle> {
  await delay(SETTLE_MS);
  const before = { cpu: cpuSeconds(fleet.pid), at: nowMs() };
  await delay(seconds * 1000);
  const share = (cpuSeconds(fleet.pid) - before.cpu) / ((nowMs() - before.at) / 1000);
  return { cpuPercent: share * 100, memoryMb: memoryMb(fleet.pid), memoryBeforeMb: fleet.memoryBeforeMb };
}

export function idleMetrics(zones: number, meridian: Idle, floor: Idle): Metric[] {
  const metric = compare('idle', meridian, floor);
  return [
    metric('cpuPercent', 'CPU of the server', '%', budgets.idleCpuPercent),
    metric('memoryMb', 'memory of the server', 'MB', zones === 500 ? budgets.memoryOf500ZonesMb : budgets.memoryMb),
    metric('memoryBeforeMb', 'memory before the zones joined', 'MB'),
  ];
}
