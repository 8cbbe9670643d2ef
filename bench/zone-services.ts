// The cost of reconciling the services of a zone, which must not grow with the size of the zone.
import type { Context, Sections } from './context.ts';
import { budgets, type Budget, type Metric } from './metric.ts';
import { measureZone, type ZoneFindings } from './zone-reconciler.ts';
import { sizes, type ZoneSizes } from './zone-sizes.ts';

/** For 2,000 services × 5,000 Dataplanes on two cores, the database included. */
const zoneBudgets = { changeP99Ms: { most: 100 }, safetySeconds: { most: 1 } } as const satisfies Record<string, Budget>;

export const services: Sections<ZoneSizes> = {
  names: { services: 'the first look, a change of one Dataplane, the safety pass; and a change at half the size' },
  measure: measureServices,
};

async function measureServices({ settings, postgres, say }: Context<ZoneSizes>): Promise<Metric[]> {
  const server = await postgres();
  const measure = async (size: ZoneSizes): Promise<ZoneFindings> => {
    say(`${String(size.services)} services, ${String(size.dataplanes)} Dataplanes`);
    return await measureZone(server, size);
  };
  const whole = await measure(settings);
  const halfOf = (count: number): number => Math.ceil(count / 2);
  const half = await measure({ ...settings, services: halfOf(settings.services), dataplanes: halfOf(settings.dataplanes) });
  return metricsOf(settings, whole, half);
}

function metricsOf(size: ZoneSizes, whole: ZoneFindings, half: ZoneFindings): Metric[] {
  const section = 'services';
  const isReference = size.services >= sizes.services[0] && size.dataplanes >= sizes.dataplanes[0];
  const judged = (budget: Budget): { budget?: Budget } => (isReference ? { budget } : {});
  const change = 'a Dataplane changes until its service is written';
  return [
    { section, name: `${change}, p50`, unit: 'ms', meridian: whole.changeP50Ms },
    { section, name: `${change}, p99`, unit: 'ms', meridian: whole.changeP99Ms, ...judged(zoneBudgets.changeP99Ms) },
    { section, name: 'rows written for it', unit: '', meridian: whole.writesPerChange },
    { section, name: 'CPU of the zone for it', unit: 'ms', meridian: whole.changeCpuMs },
    {
      ...{ section, name: 'CPU for it, against half the size', unit: '×', meridian: whole.changeCpuMs / half.changeCpuMs },
      budget: budgets.scalingFactor,
    },
    { section, name: 'safety pass', unit: 's', meridian: whole.safetySeconds, ...judged(zoneBudgets.safetySeconds) },
    { section, name: 'all services made from nothing', unit: 's', meridian: whole.firstLookSeconds },
  ];
}
