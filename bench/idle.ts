// After the join, when nothing changes: CPU and memory of the server with all its zones connected.
import { setTimeout as delay } from 'node:timers/promises';
import type { Fleet } from './fleet.ts';
import { cpuSeconds, memoryMb, nowMs } from './measure.ts';
import { budgets, type Metric } from './metric.ts';

export type Idle = { readonly cpuPercent: number; readonly memoryMb: number; readonly memoryBeforeMb: number };

/** What the join itself leaves to be done is not idleness. */
const SETTLE_MS = 2_000;

export async function measureIdle(fleet: Fleet, seconds: number): Promise<Idle> {
  await delay(SETTLE_MS);
  const before = { cpu: cpuSeconds(fleet.pid), at: nowMs() };
  await delay(seconds * 1000);
  const share = (cpuSeconds(fleet.pid) - before.cpu) / ((nowMs() - before.at) / 1000);
  return { cpuPercent: share * 100, memoryMb: memoryMb(fleet.pid), memoryBeforeMb: fleet.memoryBeforeMb };
}

export function idleMetrics(zones: number, meridian: Idle, floor: Idle): Metric[] {
  const section = 'idle';
  return [
    {
      ...{ section, name: 'CPU of the server', unit: '%', budget: budgets.idleCpuPercent },
      ...{ meridian: meridian.cpuPercent, floor: floor.cpuPercent },
    },
    {
      ...{
        section,
        name: 'memory of the server',
        unit: 'MB',
        budget: zones === 500 ? budgets.memoryOf500ZonesMb : budgets.memoryMb,
      },
      ...{ meridian: meridian.memoryMb, floor: floor.memoryMb },
    },
    {
      ...{ section, name: 'memory before the zones joined', unit: 'MB' },
      ...{ meridian: meridian.memoryBeforeMb, floor: floor.memoryBeforeMb },
    },
  ];
}
