// One global with many zones and many resources, beside the floor: join, idle, one change until the last zone has it.
import { measureChanges, type Changed } from './change.ts';
import type { Context, Sections } from './context.ts';
import { Fleet } from './fleet.ts';
import { measureIdle, type Idle } from './idle.ts';
import { measureJoin, type Joined } from './join.ts';
import { budgets, replicaEnv, type FleetSizes } from './large-fleet-sizes.ts';
import { compare, type Metric } from './metric.ts';

export const oneProcess: Sections<FleetSizes> = {
  names: { one: 'many zones × many resources on one process' },
  measure: measureBoth,
};

async function measureBoth({ settings, postgres, say }: Context<FleetSizes>): Promise<Metric[]> {
  const { oneZones: zones, oneResources: resources, zonesPerProcess } = settings;
  const size = { zones, resources, zonesPerProcess };
  say(`one: ${String(zones)} zones join, ${String(resources)} MeshTimeouts`);
  const meridian = await measure(await Fleet.meridian(await postgres(), size, replicaEnv(zones)), settings, say);
  say('one: the floor');
  const floor = await measure(await Fleet.floor(size), settings, say);
  const metric = compare('one', meridian, floor);
  return [
    metric('seconds', 'all zones hold all', 's'),
    metric('cpuSeconds', 'CPU of the server in it', 's'),
    metric('failures', 'failed connections in it', ''),
    metric('cpuPercent', 'idle: CPU of the server', '%', budgets.oneIdlePercent),
    metric('memoryMb', 'idle: memory of the server', 'MB', budgets.oneMemoryMb),
    metric('memoryBeforeMb', 'memory before the zones joined', 'MB'),
    metric('p50Ms', 'PUT to the last zone, p50', 'ms'),
    metric('p99Ms', 'PUT to the last zone, p99', 'ms', budgets.oneChangeP99Ms),
    metric('cpuMs', 'CPU of the server a change', 'ms'),
  ];
}

async function measure(
  fleet: Fleet,
  settings: FleetSizes,
  say: (text: string) => void,
): Promise<Joined & Idle & Changed & { failures: number }> {
  try {
    const joined = await measureJoin(fleet, say);
    const { failures } = fleet.zones.progress;
    const idle = await measureIdle(fleet, settings.idleSeconds);
    return { ...joined, failures, ...idle, ...(await measureChanges(fleet, settings)) };
  } finally {
    await fleet.stop();
  }
}
