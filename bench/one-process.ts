// One global with many zones and many resources, beside the floor: join, idle, one change until the last zone has it.
import type { Context, Sections } from './context.ts';
import { measureBoth } from './fleet-sections.ts';
import { budgets, replicaEnv, type FleetSizes } from './large-fleet-sizes.ts';
import { compare, type Metric } from './metric.ts';

export const oneProcess: Sections<FleetSizes> = {
  names: { one: 'many zones × many resources on one process' },
  measure: measureOne,
};

async function measureOne(context: Context<FleetSizes>): Promise<Metric[]> {
  const { oneZones: zones, oneResources: resources } = context.settings;
  const of = { ...context, settings: { ...context.settings, zones, resources } };
  const { meridian, floor } = await measureBoth(of, new Set(['idle', 'change']), replicaEnv(zones));
  const metric = compare(
    'one',
    { ...meridian.join, ...meridian.idle, ...meridian.change },
    { ...floor.join, ...floor.idle, ...floor.change },
  );
  return [
    metric('seconds', 'all zones hold all', 's'),
    metric('cpuSeconds', 'CPU of the server in it', 's'),
    metric('failures', 'failed connections in it', ''),
    metric('cpuPercent', 'idle: CPU of the server', '%', budgets.oneIdlePercent),
    metric('memoryMb', 'idle: memory of the server', 'MB', budgets.oneMemoryMb),
    metric('p50Ms', 'PUT to the last zone, p50', 'ms'),
    metric('p99Ms', 'PUT to the last zone, p99', 'ms', budgets.oneChangeP99Ms),
    metric('cpuMs', 'CPU of the server a change', 'ms'),
  ];
}
