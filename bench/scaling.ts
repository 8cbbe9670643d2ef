// Join and one change at three sizes: cost must grow with changes, not with resources × zones.
import { measureChanges } from './change.ts';
import type { Context } from './context.ts';
import { Fleet } from './fleet.ts';
import { measureJoin } from './join.ts';
import { memoryMb } from './measure.ts';
import { budgets, type Metric } from './metric.ts';

export type ScalingRow = {
  readonly zones: number;
  readonly resources: number;
  readonly joinSeconds: number;
  readonly joinCpuSeconds: number;
  readonly changeP50Ms: number;
  readonly changeCpuMs: number;
  /** CPU of one change for each zone, in microseconds. */
  readonly cpuPerZoneUs: number;
  readonly memoryMb: number;
  /** What the join added, for each zone. */
  readonly memoryPerZoneKb: number;
};

export async function measureScaling({ settings, postgres, say }: Context): Promise<{ rows: ScalingRow[]; metrics: Metric[] }> {
  const { scalingZones: zones, scalingResources: resources, zonesPerProcess } = settings;
  const sizes = [
    { zones, resources, zonesPerProcess },
    { zones: zones * 2, resources, zonesPerProcess },
    { zones, resources: resources * 2, zonesPerProcess },
  ];
  const rows: ScalingRow[] = [];
  for (const size of sizes) {
    say(`scaling: ${String(size.zones)} zones × ${String(size.resources)} MeshTimeouts`);
    const fleet = await Fleet.meridian(postgres, size);
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
  return { rows, metrics: metricsOf(rows) };
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
