// The plan of a soak: repeatable, and with every kind of action.
import { describe, expect, it } from 'vitest';
import { planOf, type Planned, type PlanSizes } from './plan.ts';

const HOUR: PlanSizes = { seed: 1, seconds: 3_600, zones: 200, realZones: 3, replicas: 2, resources: 200 };
const KINDS: readonly Planned['kind'][] = [
  'follow',
  'killReplica',
  'killZone',
  'leave',
  'policy',
  'read',
  'refuse',
  'restartPostgres',
  'service',
  'write',
];

function kindsOf(plan: readonly Planned[]): string[] {
  return [...new Set(plan.map(({ kind }) => kind))].toSorted();
}

describe('the plan of a soak', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(planOf(HOUR)).toEqual(planOf(HOUR));
    expect(planOf({ ...HOUR, seed: 2 })).not.toEqual(planOf(HOUR));
  });

  it('has every kind of action, in a minute too', () => {
    expect(kindsOf(planOf(HOUR))).toEqual(KINDS);
    expect(kindsOf(planOf({ ...HOUR, seconds: 54, zones: 1, realZones: 1, replicas: 1, resources: 1 }))).toEqual(KINDS);
  });

  it('is in the order of its times, none of them after its end', () => {
    const times = planOf(HOUR).map(({ at }) => at);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(Math.min(...times)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...times)).toBeLessThan(HOUR.seconds);
  });

  it('names only existing zones, replicas and resources', () => {
    for (const action of planOf(HOUR)) {
      if ('replica' in action) expect(action.replica).toBeLessThan(HOUR.replicas);
      if ('index' in action) expect(action.index).toBeLessThan(HOUR.resources);
      if (action.kind === 'service' || action.kind === 'killZone') expect(action.zone).toBeLessThan(HOUR.realZones);
      else if ('zone' in action) expect(action.zone).toBeLessThan(HOUR.zones);
    }
  });

  it('lets one replica and one zone live for the last four fifths', () => {
    const late = planOf(HOUR).filter(({ at }) => at > 0.2 * HOUR.seconds);
    expect(late.filter((action) => action.kind === 'killReplica' && action.replica === 0)).toEqual([]);
    expect(late.filter((action) => action.kind === 'killZone' && action.zone === 0)).toEqual([]);
    expect(kindsOf(late)).toEqual(KINDS);
  });
});
