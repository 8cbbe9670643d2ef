// All zones join at once: how long until each holds everything, and what it costs the server.
import type { Fleet } from './fleet.ts';
import { cpuSeconds } from './measure.ts';
import { sayWhile } from './say-while.ts';
import { budgets, compare, type Metric } from './metric.ts';

export type Joined = { readonly seconds: number; readonly cpuSeconds: number };

/** @param say gets a line about the progress from time to time */
export async function measureJoin(fleet: Fleet, say: (text: string) => void = () => undefined): Promise<Joined> {
  const before = cpuSeconds(fleet.pid);
  const progress = (): string => {
    const { complete, failures } = fleet.zones.progress;
    return `  ${String(complete)} of ${String(fleet.size.zones)} zones hold all, ${String(failures)} failed connections`;
  };
  const milliseconds = await sayWhile(fleet.join(), say, progress);
  return { seconds: milliseconds / 1000, cpuSeconds: cpuSeconds(fleet.pid) - before };
}

export function joinMetrics(meridian: Joined, floor: Joined): Metric[] {
  const metric = compare('join', meridian, floor);
  return [
    metric('seconds', 'all zones hold all', 's', budgets.joinSeconds),
    metric('cpuSeconds', 'CPU of the server in it', 's', budgets.joinCpuSeconds),
  ];
}
