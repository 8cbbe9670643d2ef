// The sections that compare the global with the floor: first the one with all its zones, then the other, never both at once.
import { burstMetrics, measureBurst } from './burst.ts';
import { changeMetrics, measureChanges, type Changed } from './change.ts';
import type { Context, Sections } from './context.ts';
import { Fleet } from './fleet.ts';
import { idleMetrics, measureIdle, type Idle } from './idle.ts';
import { joinMetrics, measureJoin, type Joined } from './join.ts';
import type { Metric } from './metric.ts';
import type { Settings } from './settings.ts';

/** All that come after `join` need it. */
export const fleet: Sections<Settings> = {
  names: {
    join: 'all zones join at once: seconds, and CPU of the server',
    idle: 'CPU and memory of the server after that',
    change: 'one policy by PUT until the last zone has it',
    burst: 'many policies at once',
  },
  measure: measureBoth,
};

type Results = { join: Joined; idle?: Idle; change?: Changed; burst?: number };

async function measureBoth(context: Context<Settings>, wanted: ReadonlySet<string>): Promise<Metric[]> {
  const { settings, postgres } = context;
  const meridian = await measure('global', await Fleet.meridian(await postgres(), settings), context, wanted);
  const floor = await measure('floor', await Fleet.floor(settings), context, wanted);
  return [
    ...joinMetrics(meridian.join, floor.join),
    ...(meridian.idle !== undefined && floor.idle !== undefined ? idleMetrics(settings.zones, meridian.idle, floor.idle) : []),
    ...(meridian.change !== undefined && floor.change !== undefined ? changeMetrics(meridian.change, floor.change) : []),
    ...(meridian.burst !== undefined && floor.burst !== undefined
      ? burstMetrics(Math.min(settings.burst, settings.resources), meridian.burst, floor.burst)
      : []),
  ];
}

async function measure(
  name: string,
  subject: Fleet,
  { settings, say }: Context<Settings>,
  wanted: ReadonlySet<string>,
): Promise<Results> {
  try {
    say(`${name}: ${String(settings.zones)} zones join, ${String(settings.resources)} MeshTimeouts`);
    const results: Results = { join: await measureJoin(subject) };
    if (wanted.has('idle')) {
      say(`${name}: idle for ${String(settings.idleSeconds)} s`);
      results.idle = await measureIdle(subject, settings.idleSeconds);
    }
    if (wanted.has('change')) {
      say(`${name}: ${String(settings.warmUp)} changes to warm up, ${String(settings.changes)} one after the other`);
      results.change = await measureChanges(subject, settings);
    }
    if (wanted.has('burst')) {
      say(`${name}: ${String(settings.burst)} changes at once`);
      results.burst = await measureBurst(subject, settings.burst);
    }
    return results;
  } finally {
    await subject.stop();
  }
}
