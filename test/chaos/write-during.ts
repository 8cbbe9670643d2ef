// Writes on both sides during a failure. In the end every acknowledged write is in every store, and the stores are in step.
import { expect } from 'vitest';
import { hashName } from '../../src/resource/hash-name.ts';
import { WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { expectEqualStores, zoneName } from './compare-stores.ts';
import { putService, putTimeout, writeSteadily, type SteadyWrites } from './steady-writes.ts';

/** The answers of an unavailable or read-only database: the write may be retried, and the answer says so. */
const MAY_BE_TRIED_AGAIN = 503;

/** Resolves after this number of further accepted writes. */
export type MoreWrites = (count: number) => Promise<void>;

/**
 * Puts policies on global and services in the first zone while `fault` runs, and until both are accepted again after it.
 * @param prefix of the names; each call needs another one
 * @param options.kills the fault ends processes, so a write may have no answer
 * @throws AssertionError when a process ended, an acknowledged write is lost, or the stores differ at the end
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

/** Waits for one more accepted write. */
async function hasMore(writes: SteadyWrites): Promise<void> {
  const before = writes.accepted();
  await expect.poll(() => writes.accepted(), WAIT).toBeGreaterThan(before);
}
