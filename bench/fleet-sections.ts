// The sections with fake zones. Those that compare the global with the floor have first the one with all its zones, then the other, never both
// at once.
import type { Context, Sections } from './context.ts';
import { Fleet, type FleetSize, type Idle, type Joined } from './fleet.ts';
import type { Counts, Repeated } from './measure.ts';
import { budgets, compare, metricsOf, type Metric } from './metric.ts';
import type { Settings } from './settings.ts';

/** All that come after `join` need it. */
export const fleet: Sections<Settings> = {
  names: {
    join: 'all zones join at once: seconds, and CPU of the server',
    idle: 'CPU and memory of the server after that',
    change: 'one policy by PUT until the last zone has it',
    burst: 'many policies at once',
  },
  measure: measureFleet,
};

export const scaling: Sections<Settings> = {
  names: { scaling: 'a change with twice the zones, and with twice the resources: its cost must grow with neither' },
  measure: measureScaling,
};

type FleetResults = {
  readonly join: Joined;
  readonly idle: Idle | null;
  readonly change: Repeated | null;
  readonly burst: { readonly seconds: number } | null;
};
export type Steps = Counts & { readonly idleSeconds: number; readonly burst?: number };

/** The same of the global, and then of the floor. @param env more of the configuration of the global */
export async function measureBoth(
  { settings, postgres, say }: Pick<Context<FleetSize & Steps>, 'settings' | 'postgres' | 'say'>,
  wanted: ReadonlySet<string>,
  env: Record<string, string> = {},
): Promise<{ readonly meridian: FleetResults; readonly floor: FleetResults }> {
  const measure = async (name: string, subject: Fleet): Promise<FleetResults> => {
    const step = async <T>(key: string, about: string, task: () => Promise<T>): Promise<T | null> => {
      if (!wanted.has(key)) return null;
      say(`${name}: ${about}`);
      return await task();
    };
    try {
      say(`${name}: ${String(settings.zones)} zones join, ${String(settings.resources)} MeshTimeouts`);
      const { idleSeconds, changes, burst = 0 } = settings;
      return {
        join: await subject.join(say),
        idle: await step('idle', `idle for ${String(idleSeconds)} s`, () => subject.idle(idleSeconds)),
        change: await step('change', `${String(changes)} changes, one after the other`, () => subject.changes(settings)),
        burst: await step('burst', `${String(burst)} changes at once`, async () => {
          return { seconds: (await subject.change(burst)) / 1000 };
        }),
      };
    } finally {
      await subject.stop();
    }
  };
  const meridian = await measure('global', await Fleet.meridian(await postgres(), settings, env));
  return { meridian, floor: await measure('floor', await Fleet.floor(settings)) };
}

async function measureFleet(context: Context<Settings>, wanted: ReadonlySet<string>): Promise<Metric[]> {
  const { zones, resources } = context.settings;
  // Distinct policies: two changes of one may rightly arrive as one.
  const burst = Math.min(context.settings.burst, resources);
  const { meridian, floor } = await measureBoth({ ...context, settings: { ...context.settings, burst } }, wanted);
  const join = compare('join', meridian.join, floor.join);
  const metrics = [
    join('seconds', 'all zones hold all', 's', budgets.joinSeconds),
    join('cpuSeconds', 'CPU of the server in it', 's', budgets.joinCpuSeconds),
  ];
  if (meridian.idle !== null && floor.idle !== null) {
    const idle = compare('idle', meridian.idle, floor.idle);
    metrics.push(idle('cpuPercent', 'CPU of the server', '%', budgets.idleCpuPercent));
    metrics.push(idle('memoryMb', 'memory of the server', 'MB', zones === 500 ? budgets.memoryOf500ZonesMb : budgets.memoryMb));
  }
  if (meridian.change !== null && floor.change !== null) {
    const change = compare('change', meridian.change, floor.change);
    metrics.push(change('p50Ms', 'PUT to the last zone, p50', 'ms', budgets.changeP50Ms));
    metrics.push(change('p99Ms', 'PUT to the last zone, p99', 'ms', budgets.changeP99Ms));
    metrics.push(change('cpuMs', 'CPU of the server a change', 'ms', budgets.changeCpuMs));
  }
  if (meridian.burst !== null && floor.burst !== null) {
    const name = `${String(burst)} changes at once, the last everywhere`;
    metrics.push(compare('burst', meridian.burst, floor.burst)('seconds', name, 's', budgets.burstSeconds));
  }
  return metrics;
}

async function measureScaling({ settings, postgres, say }: Context<Settings>): Promise<Metric[]> {
  const { scalingZones: zones, scalingResources: resources, zonesPerProcess } = settings;
  const metric = metricsOf('scaling');
  /** Microseconds of CPU of a change for each zone. */
  const measureSize = async (size: { readonly zones: number; readonly resources: number }): Promise<number> => {
    say(`scaling: ${String(size.zones)} zones × ${String(size.resources)} MeshTimeouts`);
    const subject = await Fleet.meridian(await postgres(), { ...size, zonesPerProcess });
    try {
      await subject.join();
      return ((await subject.changes(settings)).cpuMs * 1000) / size.zones;
    } finally {
      await subject.stop();
    }
  };
  const base = await measureSize({ zones, resources });
  const more = { budget: budgets.scalingFactor };
  return [
    metric('CPU a change and zone', 'µs', base),
    metric('… with twice the zones', '×', (await measureSize({ zones: zones * 2, resources })) / base, more),
    metric('… with twice the resources', '×', (await measureSize({ zones, resources: resources * 2 })) / base, more),
  ];
}
