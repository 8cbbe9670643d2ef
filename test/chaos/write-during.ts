// Writes on both sides during a failure. In the end every acknowledged write is in every store, and the stores are in step.
import { expect } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { expectEqualStores, zoneName } from './compare-stores.ts';
import { putService, putTimeout, writeSteadily, type SteadyWrites } from './steady-writes.ts';

/** Of a database that is away, or stores nothing: the write may be tried again, and the answer says so. */
const MAY_BE_TRIED_AGAIN = 503;

/** Resolves when so many more writes have been accepted. */
export type MoreWrites = (count: number) => Promise<void>;

/**
 * Puts policies on global and services in the first zone while `fault` runs and until both are taken again after it.
 * @param prefix of the names, for each call another
 * @param options.kills the fault ends processes: then a write may have no answer at all
 * @throws AssertionError when a process ended, a promise was broken, or the stores differ in the end
 */
export async function writeDuring(
  fleet: Fleet,
  prefix: string,
  fault: (moreWrites: MoreWrites) => Promise<void>,
  { kills = false } = {},
): Promise<void> {
  const { global, zones } = fleet;
  const [east] = zones as [ControlPlane];
  const members = [global, ...zones];
  const policies = writeSteadily(`policy-${prefix}`, (name, n) => putTimeout(global, name, n));
  const services = writeSteadily(`service-${prefix}`, (name, n) => putService(east, name, n));
  try {
    const accepted = (): number => policies.accepted() + services.accepted();
    await fault(async (count) => {
      const least = accepted() + count;
      await expect.poll(accepted, WAIT).toBeGreaterThanOrEqual(least);
    });
    for (const member of members) member.assertRunning(prefix);
    for (const writes of [policies, services]) await hasMore(writes);
  } finally {
    await policies.stop();
    await services.stop();
  }
  await expectEqualStores(fleet);
  const ofGlobal = await policies.stop();
  const ofEast = await services.stop();
  for (const side of members) {
    const timeouts = await side.rows('MeshTimeout');
    const timeoutOf = (name: string): string => (side === global ? name : hashName({ mesh: 'default', name }));
    expect(ofGlobal.accepted.filter((name) => !timeouts.has(timeoutOf(name)))).toEqual([]);
    const stored = await side.rows('MeshService');
    const nameOf = (name: string): string => (side === east ? name : hashName({ mesh: 'default', name, zone: zoneName(east) }));
    expect(ofEast.accepted.filter((name) => !stored.has(nameOf(name)))).toEqual([]);
  }
  for (const [side, { answers }] of [[global, ofGlobal] as const, [east, ofEast] as const])
    for (const answer of answers)
      expect([200, 201, MAY_BE_TRIED_AGAIN, ...(kills ? [0] : [])], side.lastWords()).toContain(answer);
}

/** One more write is accepted than now. */
async function hasMore(writes: SteadyWrites): Promise<void> {
  const before = writes.accepted();
  await expect.poll(() => writes.accepted(), WAIT).toBeGreaterThan(before);
}
