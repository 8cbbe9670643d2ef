// Ten thousand changes of all types on both sides while zones join and leave: all end in step, and what was needed on the way is
// given back. CHAOS_BURST_MINUTES makes it run as long.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { expectEqualStores, OF_GLOBAL, OF_ZONES } from './compare-stores.ts';
import { GuestZone, type Manner } from './guest-zone.ts';
import { heapUsed, preloaded } from './preload.ts';
import { hasMesh } from './steady-writes.ts';

const MINUTES = Number(process.env['CHAOS_BURST_MINUTES'] ?? 0);
/** Rows of a type and round: each is created and changed, and half of them removed. */
const ROWS = 40;
const ROWS_A_STATEMENT = 10;
const LEAST_CHANGES = 10_000;
/** Until then caches fill and functions are compiled. */
const WARM_ROUNDS = 2;
/** Bytes that a heap may differ by from one moment to another, and what each round may add to histograms and caches. */
const NOISE = 3_000_000;
/** A round is some 2,700 changes: what is kept of each by mistake is far more than this. */
const A_ROUND = 200_000;
const MANNERS: readonly Manner[] = ['acknowledges', 'says nothing', 'refuses everything'];
const GUESTS = 9;

type Heap = { readonly global: number; readonly east: number };

describe('a burst of changes', () => {
  let fleet: Fleet;
  let west: ControlPlane;
  let changes = 0;

  /** Creates, changes and removes rows of each type. */
  async function write(side: ControlPlane, types: readonly string[], round: number): Promise<void> {
    const at = (type: string): string => `type = '${type}' and sync_version is null and name like 'burst-${String(round)}-%'`;
    for (let from = 1; from <= ROWS; from += ROWS_A_STATEMENT) {
      for (const type of types) {
        const { rowCount: created } = await side.psql.query(
          `insert into resources (name, mesh, type, version, spec, labels)
           select 'burst-${String(round)}-' || n, 'default', $1, 0, json_build_object('n', n)::text, jsonb_build_object('team', 'a')
           from generate_series($2::int, $3::int) n`,
          [type, from, from + ROWS_A_STATEMENT - 1],
        );
        const { rowCount: changed } = await side.psql.query(
          `update resources set spec = json_build_object('changed', name)::text where ${at(type)} and spec::json ->> 'n' is not null`,
        );
        const { rowCount: removed } = await side.psql.query(
          `delete from resources where ${at(type)} and right(name, 1) = any('{1,3,5,7,9}')`,
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
      await delay(Math.random() * 150, undefined, { signal }).catch(() => undefined);
    }
    for (const guest of guests) guest.leave();
    if (!west.isRunning) west.start();
  }

  async function round(number: number): Promise<Heap> {
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
    return { global: await heapUsed(global), east: await heapUsed(east) };
  }

  beforeAll(async () => {
    fleet = await startFleet(inject('postgresUrl'), ['east', 'west'], { env: preloaded('heap'), isQuiet: true });
    [, west] = fleet.zones as [ControlPlane, ControlPlane];
    for (const zone of fleet.zones) await vi.waitFor(async () => expect(await hasMesh(zone)).toBe(true), WAIT);
  });

  afterAll(() => fleet.stop());

  it(
    'ends with equal stores and leaves nothing behind',
    async () => {
      const heaps: Heap[] = [];
      for (const began = performance.now(); changes < LEAST_CHANGES || performance.now() - began < MINUTES * 60_000;)
        heaps.push(await round(heaps.length + 1));
      const megabytes = heaps.map(({ global, east }) => [global, east].map((bytes) => (bytes / 1e6).toFixed(1)).join(' / '));
      const about = `${String(changes)} changes; MB on the heap of global / a zone after each round: ${megabytes.join(', ')}`;
      if (MINUTES > 0) process.stderr.write(`${about}\n`);
      for (const side of ['global', 'east'] as const) {
        const warm = Math.max(...heaps.slice(0, WARM_ROUNDS).map((heap) => heap[side]));
        const last = Math.min(...heaps.slice(-2).map((heap) => heap[side]));
        expect(last - warm, about).toBeLessThan(NOISE + A_ROUND * (heaps.length - WARM_ROUNDS));
      }
    },
    (MINUTES + 3) * 60_000,
  );
});
