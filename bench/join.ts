// All zones join at once: how long until each holds everything, and what it costs the server.
import type { Fleet } from './fleet.ts';
import { cpuSeconds } from './measure.ts';
import { budgets, type Metric } from './metric.ts';

export type Joined = { readonly seconds: number; readonly cpuSeconds: number };

export async function measureJoin(fleet: Fleet): Promise<Joined> {
  const before = cpuSeconds(fleet.pid);
  const milliseconds = await fleet.join();
  return { seconds: milliseconds / 1000, cpuSeconds: cpuSeconds(fleet.pid) - before };
}

export function joinMetrics(meridian: Joined, floor: Joined): Metric[] {
  const section = 'join';
  return [
    {
      ...{ section, name: 'all zones hold all', unit: 's', budget: budgets.joinSeconds },
      ...{ meridian: meridian.seconds, floor: floor.seconds },
    },
    {
      ...{ section, name: 'CPU of the server in it', unit: 's', budget: budgets.joinCpuSeconds },
      ...{ meridian: meridian.cpuSeconds, floor: floor.cpuSeconds },
    },
  ];
}
