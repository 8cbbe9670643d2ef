// Join and one change at three sizes: cost must grow with changes, not with resources × zones.
import { measureChanges } from './change.ts';
import type { Context, Sections } from './context.ts';
import { Fleet } from './fleet.ts';
import { measureJoin } from './join.ts';
import { memoryMb } from './measure.ts';
import { budgets, type Metric } from './metric.ts';
import type { Settings } from './settings.ts';

type ScalingRow = {
  readonly zones: number;
  readonly resources: number;
  readonly joinSeconds: number;
  readonly joinCpuSeconds: number;
  readonly changeP50Ms: number;
  readonly changeCpuMs: number;
  /** CPU of one change for each zone, in microseconds. */
  readonly cpuPerZoneUs: number;
  readonly memoryMb: number;
  /** The memory that each zone added. */
  readonly memoryPerZoneKb: number;
};

const columns: Readonly<Record<keyof ScalingRow, string>> = {
  zones: 'ZONES',
  resources: 'RESOURCES',
  joinSeconds: 'JOIN S',
  joinCpuSeconds: 'JOIN CPU S',
  changeP50Ms: 'CHANGE P50 MS',
  changeCpuMs: 'CPU MS',
  cpuPerZoneUs: 'CPU µS A ZONE',
  memoryMb: 'MEMORY MB',
  memoryPerZoneKb: 'KB A ZONE',
};

export const scaling: Sections<Settings> = {
  names: { scaling: 'join and change with twice the zones, and with twice the resources' },
  measure: measureScaling,
};

async function measureScaling({ settings, postgres, say, addTable }: Context<Settings>): Promise<Metric[]> {
  const server = await postgres();
  const { scalingZones: zones, scalingResources: resources, zonesPerProcess } = settings;
  const sizes = [
    { zones, resources, zonesPerProcess },
    { zones: zones * 2, resources, zonesPerProcess },
    { zones, resources: resources * 2, zonesPerProcess },
  ];
  const rows: ScalingRow[] = [];
  for (const size of sizes) {
    say(`scaling: ${String(size.zones)} zones × ${String(size.resources)} MeshTimeouts`);
    const fleet = await Fleet.meridian(server, size);
    try {
      const join = await measureJoin(fleet);
      const change = await measureChanges(fleet, settings);
      const memory = memoryMb(fleet.pid);
      rows.push({
        ...{ zones: size.zones, resources: size.resources },
        ...{ joinSeconds: join.seconds, joinCpuSeconds: join.cpuSeconds },
        ...{ changeP50Ms: change.p50Ms, changeCpuMs: change.cpuMs, cpuPerZoneUs: (change.cpuMs * 1000) / size.zones },
        ...{ memoryMb: memory, memoryPerZoneKb: ((memory - fleet.memoryBeforeMb) * 1000) / size.zones },
      });
    } finally {
      await fleet.stop();
    }
  }
  addTable({ name: 'scaling', columns, rows });
  return metricsOf(rows);
}

function metricsOf(rows: readonly ScalingRow[]): Metric[] {
  const [base, moreZones, moreResources] = rows;
  const factor = (row: ScalingRow | undefined): number => (row?.cpuPerZoneUs ?? NaN) / (base?.cpuPerZoneUs ?? NaN);
  const shared = { section: 'scaling', unit: '×', budget: budgets.scalingFactor };
  return [
    { ...shared, name: 'CPU a change and zone, twice the zones', meridian: factor(moreZones) },
    { ...shared, name: 'CPU a change and zone, twice the resources', meridian: factor(moreResources) },
  ];
}
