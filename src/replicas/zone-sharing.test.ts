// The sharing of zones between the replicas of a simulated fleet, each with its roster on one store, behind a load balancer of
// the test.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { fc } from '../../test/support/property.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { createLogger } from '../base/log.ts';
import { ReplicaRoster, SHARING_BEAT_MS } from './replica-roster.ts';
import { boundsOf, ZoneSharing } from './zone-sharing.ts';

const log = createLogger('silent');
const SETTINGS = { enabled: true, settleTime: 15_000, percentPerSecond: 1 };

let clock: ManualClock;
let store: TinyStore;
let replicas: Replica[];
/** Chooses the replica of a zone that connects. */
let choose: (from: Replica) => Replica;
const fewest = (): Replica =>
  replicas.filter(({ isUp }) => isUp).toSorted((a, b) => a.zones.length - b.zones.length)[0] as Replica;

beforeEach(() => {
  clock = new ManualClock();
  store = new TinyStore();
  replicas = [];
  choose = fewest;
});
afterEach(() => replicas.forEach((one) => one.stop.abort()));

class Replica {
  readonly name: string;
  readonly zones: string[];
  readonly moves: { readonly at: number; readonly zone: string }[] = [];
  readonly stop = new AbortController();
  readonly roster: ReplicaRoster;
  isUp = true;
  /** Zones that may not be moved. */
  readonly busy = new Set<string>();

  constructor(name: string, zones: readonly string[], settings = SETTINGS) {
    this.name = name;
    this.zones = [...zones];
    const mark = (text: string): Promise<void> => (this.isUp ? store.mark(text) : Promise.resolve());
    const marks = { changes: store.changes.bind(store), mark };
    this.roster = new ReplicaRoster({ store: marks, instanceId: name, version: '1', beatMs: SHARING_BEAT_MS, clock, log });
    const movable = {
      count: () => this.zones.length,
      movable: () => this.zones.filter((zone) => !this.busy.has(zone)),
      has: (zone: string) => this.zones.includes(zone),
      move: (moved: ReadonlySet<string>) => this.#move(moved),
    };
    const sharing = new ZoneSharing({ roster: this.roster, zones: movable, settings, clock, log });
    void Promise.all([this.roster.run(this.stop.signal), sharing.run(this.stop.signal)]);
    replicas.push(this);
  }

  kill(): void {
    this.isUp = false;
    this.stop.abort();
    for (const zone of this.zones.splice(0)) fewest().zones.push(zone);
  }

  #move(moved: ReadonlySet<string>): void {
    for (const zone of moved) {
      this.moves.push({ at: clock.elapsed(), zone });
      this.zones.splice(this.zones.indexOf(zone), 1);
      choose(this).zones.push(zone);
    }
  }
}

const names = (count: number, prefix = 'zone'): string[] => Array.from({ length: count }, (_, n) => `${prefix}-${String(n)}`);
const sizes = (): number[] => replicas.filter(({ isUp }) => isUp).map(({ zones }) => zones.length);
const moves = (): number => replicas.reduce((sum, one) => sum + one.moves.length, 0);
/** Long steps of this clock cost a turn for each second of each replica. */
const pass = (seconds: number): Promise<void> => clock.advance(seconds * 1_000);

describe('replicas that share zones', () => {
  it('move nothing while no replica has more than 1.2 of its share', async () => {
    new Replica('a', names(120, 'a'));
    new Replica('b', names(80, 'b'));
    await pass(300);
    expect(sizes()).toEqual([120, 80]);
  });

  it('fill a replica that comes later, at most one zone of a hundred a second', async () => {
    const a = new Replica('a', names(200, 'a'));
    const b = new Replica('b', names(200, 'b'));
    await pass(60);
    expect(moves()).toBe(0);
    new Replica('c', []);
    await pass(14);
    expect(moves()).toBe(0);
    await pass(200);
    expect(Math.max(...sizes())).toBeLessThan((400 / 3) * 1.3);
    expect(sizes().reduce((sum, count) => sum + count)).toBe(400);
    for (const { moves: made } of [a, b])
      for (const { at } of made) {
        const inOneSecond = made.filter((one) => one.at >= at && one.at < at + 1_000).length;
        expect(inOneSecond).toBeLessThanOrEqual(2);
      }
    const before = moves();
    await pass(600);
    expect(moves()).toBe(before);
  });

  it('share a handful of zones too', async () => {
    new Replica('a', names(4, 'a'));
    new Replica('b', names(4, 'b'));
    new Replica('c', []);
    await pass(200);
    expect(sizes().toSorted()).toEqual([2, 3, 3]);
    expect(moves()).toBe(2);
  });

  it('move nothing from a replica that is alone', async () => {
    new Replica('a', names(100));
    await pass(300);
    const b = new Replica('b', []);
    b.kill();
    await pass(300);
    expect(sizes()).toEqual([100]);
    expect(moves()).toBe(0);
  });

  it('move nothing to a replica that stops or was killed', async () => {
    const a = new Replica('a', names(50, 'a'));
    const b = new Replica('b', names(50, 'b'));
    await pass(30);
    await b.roster.setDraining();
    expect(a.roster.sharers()).toMatchObject([{ instanceId: 'a' }]);
    const c = new Replica('c', []);
    c.busy.add('all');
    await pass(5);
    c.kill();
    await pass(120);
    expect(a.moves).toEqual([]);
  });

  it('leave a zone where it is while its first state is on its way', async () => {
    const a = new Replica('a', names(20));
    for (const zone of a.zones) a.busy.add(zone);
    new Replica('b', []);
    await pass(120);
    expect(moves()).toBe(0);
    a.busy.clear();
    await pass(120);
    expect(Math.max(...sizes())).toBeLessThanOrEqual(12);
  });

  it('pause for longer and longer when the load balancer brings the zones back', async () => {
    const a = new Replica('a', names(200));
    choose = (from) => from;
    new Replica('b', []);
    await pass(120);
    const first = a.moves.length;
    expect(first).toBeGreaterThan(0);
    await pass(480);
    const later = a.moves.length - first;
    expect(later).toBeLessThan(first * 4);
    await pass(3_000);
    expect(a.moves.length - later - first).toBeLessThan(first * 5);
  });

  it('share the zones also where the load balancer chooses at random', async () => {
    new Replica('a', names(100));
    new Replica('b', []);
    let turn = 0;
    choose = () => replicas[(turn += 1) % 2] as Replica;
    await pass(150);
    expect(Math.max(...sizes())).toBeLessThanOrEqual(60);
  });

  it('share nothing when it is switched off', async () => {
    new Replica('a', names(100), { ...SETTINGS, enabled: false });
    new Replica('b', []);
    await pass(120);
    expect(moves()).toBe(0);
  });
});

describe('the bounds of a replica', () => {
  it('leave room for every moved zone on another replica', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(10_000), { minLength: 1, maxLength: 12 }), (counts) => {
        const bounds = boundsOf(counts);
        const total = counts.reduce((sum, count) => sum + count, 0);
        if (counts.length < 2 || total === 0) {
          expect(bounds).toBeNull();
          return;
        }
        const { lower = 0, upper = 0 } = bounds ?? {};
        expect(upper).toBeGreaterThanOrEqual(lower);
        // Whatever is moved down to the lower bound fits below the lower bound of the others.
        expect(lower * counts.length).toBeGreaterThanOrEqual(total);
        expect(counts.every((count) => count > upper)).toBe(false);
      }),
    );
  });
});
