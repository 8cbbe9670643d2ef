// Thousands of changes of all types on both sides while zones join and leave: all stores converge, and memory is freed afterwards.
// CHAOS_BURST_MINUTES sets the duration.
import { stderr } from 'node:process';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { globalConsumes, zoneConsumes } from '../../src/kds/protocol/rules.ts';
import type { TypeInfo } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { sized } from '../support/test-size.ts';
import { expectEqualStores } from './compare-stores.ts';
import { GuestZone, type Manner } from './guest-zone.ts';
import { memoryUsed, preloaded } from './preload.ts';
import { hasMesh } from './steady-writes.ts';

const MINUTES = Number(process.env['CHAOS_BURST_MINUTES'] ?? 0);
/** Rows of a type and round: each is created and changed, and half of them removed. */
const ROWS = sized({ push: 12, full: 18 });
const ROWS_A_STATEMENT = 6;
/** The types that each side writes: all that it sends. */
const OF_GLOBAL = zoneConsumes.filter(({ kds }) => kds.globalToZone);
const OF_ZONES = globalConsumes;
/** The least that the message of a type must hold. */
const SPECS: Readonly<Record<string, JsonObject>> = { Dataplane: { networking: { address: '192.0.2.1' } } };
const MIN_CHANGES = sized({ push: 4_000, full: 10_000 });
/** Until then caches fill and functions are compiled. */
const WARM_ROUNDS = 1;
/** Bytes that memory may differ by from one moment to another, and what each round may add to histograms and caches. */
const NOISE = 5_000_000;
/** A round is some 200 changes for each row: what is kept of each by mistake is far more than this. */
const A_ROUND = 200_000;
const MANNERS: readonly Manner[] = ['acknowledges', 'says nothing', 'refuses everything'];
const GUESTS = 9;
/** A guest comes after this many changes at most. */
const CHANGES_BETWEEN = 120;
const OFTEN = { ...WAIT, interval: 5 };

/** Short-lived caches, such as messages for several zones, are freed within this number of measurements. */
const STILL = 3;
const A_LOOK_MS = 1_000;
/** Less than this is no change. */
const SAME = 100_000;

function inMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

describe('a burst of changes', () => {
  let fleet: Fleet;
  let west: ControlPlane;
  let changes = 0;

  /** Creates, changes and removes rows of each type. */
  async function write(side: ControlPlane, types: readonly TypeInfo[], round: number): Promise<void> {
    const mine = `type = $1 and sync_version is null and name like 'burst-${String(round)}-%'`;
    for (let from = 1; from <= ROWS; from += ROWS_A_STATEMENT) {
      for (const { name: type, scope, codec } of types) {
        const mesh = scope === 'Mesh' ? 'default' : '';
        const spec = JSON.stringify(SPECS[type] ?? {});
        const { rowCount: created } = await side.psql.query(
          `insert into resources (name, mesh, type, version, spec, labels)
           select 'burst-${String(round)}-' || n, $2, $1, 0, $3, jsonb_build_object('team', 'a', 'n', n::text)
           from generate_series($4::int, $5::int) n`,
          [type, mesh, spec, from, from + ROWS_A_STATEMENT - 1],
        );
        // Another label is a change of any type; a spec of JSON may say what it likes.
        const { rowCount: changed } = await side.psql.query(
          `update resources set labels = labels || '{"team":"b"}',
             spec = case when $2 then json_build_object('changed', name)::text else spec end
           where ${mine} and labels ->> 'team' = 'a'`,
          [type, codec.kind === 'json'],
        );
        const { rowCount: removed } = await side.psql.query(
          `delete from resources where ${mine} and right(name, 1) = any('{1,3,5,7,9}')`,
          [type],
        );
        changes += (created ?? 0) + (changed ?? 0) + (removed ?? 0);
      }
    }
  }

  /** Guests come and go until the signal, and west is killed, stopped and started. */
  async function comeAndGo(signal: AbortSignal): Promise<void> {
    const guests: GuestZone[] = [];
    for (let n = 0; !signal.aborted; n += 1) {
      const name = `guest-${String(n % GUESTS)}`;
      guests.push(GuestZone.join(name, MANNERS[n % MANNERS.length] ?? 'acknowledges', fleet.kds));
      if (guests.length >= GUESTS) guests.shift()?.leave();
      if (n % GUESTS === 1) await west.end(n % 2 === 0 ? 'SIGTERM' : 'SIGKILL');
      if (n % GUESTS === 4) west.start();
      const next = changes + Math.random() * CHANGES_BETWEEN;
      await expect.poll(() => signal.aborted || changes >= next, OFTEN).toBe(true);
    }
    for (const guest of guests) guest.leave();
    if (!west.isRunning) west.start();
  }

  async function round(number: number): Promise<void> {
    const { global, zones } = fleet;
    const [east] = zones as [ControlPlane];
    const stop = new AbortController();
    const coming = comeAndGo(stop.signal);
    try {
      await Promise.all([write(global, OF_GLOBAL, number), ...zones.map((zone) => write(zone, OF_ZONES, number))]);
    } finally {
      stop.abort();
      await coming;
    }
    await expectEqualStores(fleet);
    for (const side of [global, ...zones])
      await side.psql.query(`delete from resources where sync_version is null and (name like 'burst-%' or name like 'last-%')`);
    await expectEqualStores(fleet);
    for (const process of [global, east]) process.assertRunning(`after round ${String(number)}`);
  }

  /** Resolves when the process holds no less any more. */
  async function atRest(process: ControlPlane): Promise<number> {
    let least = await memoryUsed(process);
    let still = 0;
    const look = async (): Promise<number> => {
      const now = await memoryUsed(process);
      still = now < least - SAME ? 0 : still + 1;
      least = Math.min(least, now);
      return still;
    };
    await expect.poll(look, { ...WAIT, interval: A_LOOK_MS }).toBe(STILL);
    return least;
  }

  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west'], { env: preloaded('memory'), isQuiet: true });
    [, west] = fleet.zones as [ControlPlane, ControlPlane];
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
  });

  afterAll(() => fleet.stop());

  it(
    'ends with equal stores and leaves nothing behind',
    async () => {
      let rounds = 0;
      while (rounds < WARM_ROUNDS) await round(++rounds);
      const [east] = fleet.zones as [ControlPlane];
      const warm = await Promise.all([fleet.global, east].map(atRest));
      for (const began = performance.now(); changes < MIN_CHANGES || performance.now() - began < MINUTES * 60_000;)
        await round(++rounds);
      for (const [index, process] of [fleet.global, east].entries()) {
        const before = warm[index] ?? 0;
        const about = `${process.command} held ${inMegabytes(before)}; ${String(changes)} changes in ${String(rounds)} rounds`;
        const most = before + NOISE + A_ROUND * (rounds - WARM_ROUNDS);
        await expect.poll(() => memoryUsed(process), { ...WAIT, interval: A_LOOK_MS, message: about }).toBeLessThan(most);
        if (MINUTES > 0) stderr.write(`${about}, then ${inMegabytes(await memoryUsed(process))}\n`);
      }
    },
    (MINUTES + 3) * 60_000,
  );
});
