// Many zones connect at once: these tests show in which order they enter, how many at a time, and that all do.
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { fc } from '../../../test/support/property.ts';
import { usedHeap, AdmissionQueue } from './admission-queue.ts';

let clock: ManualClock;
let heap: number;
let entrance: AdmissionQueue;
/** The zones in the order in which they entered. */
let entered: string[];
beforeEach(() => {
  clock = new ManualClock();
  heap = 0.1;
  entrance = new AdmissionQueue(clock, () => heap);
  entered = [];
});

const arrive = (zone: string): (() => void) => entrance.enter(zone, () => void entered.push(zone));
const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `zone-${String(n)}`);

describe('zones that come at once', () => {
  it('enter together, but for the first, which enters at once', async () => {
    for (const zone of names(30)) arrive(zone);
    expect(entered).toEqual(names(1));
    expect(entrance.waiting).toEqual({ zones: 29, longestMs: 0 });
    await clock.advance(49);
    expect(entered).toEqual(names(1));
    await clock.advance(1);
    expect(entered).toEqual(names(30));
    expect(entrance.waiting).toEqual({ zones: 0, longestMs: 0 });
  });

  it('enter at once while no other enters', () => {
    for (const zone of names(30)) {
      arrive(zone);
      expect(entered.at(-1)).toBe(zone);
      entrance.settled(zone);
    }
  });

  it('enter in the order in which they came, as others have their first state', async () => {
    heap = 0.8;
    for (const zone of names(200)) arrive(zone);
    await clock.advance(50);
    expect(entered).toEqual(names(32));
    for (let first = 0; first < 192; first += 16) {
      for (let n = first; n < first + 16; n += 1) entrance.settled(`zone-${String(n)}`);
      await clock.advance(50);
      expect(entered).toEqual(names(Math.min(200, Math.max(32, first + 32))));
    }
  });

  it('keep their place while one of their streams is open, also when the end of another is reported twice', async () => {
    heap = 0.8;
    const [leave] = [arrive('zone-a'), arrive('zone-a')];
    for (const zone of names(32)) arrive(zone);
    await clock.advance(50);
    expect(entered).toHaveLength(33);
    leave?.();
    leave?.();
    expect(entrance.waiting.zones).toBe(1);
    arrive('zone-a');
    expect(entered.at(-1)).toBe('zone-a');
  });

  it('have one place with all their streams, and new streams of a zone that is in do not wait', async () => {
    heap = 0.8;
    for (const zone of names(40)) for (let stream = 0; stream < 5; stream += 1) arrive(zone);
    await clock.advance(50);
    expect(entered).toHaveLength(160);
    for (const zone of names(17)) entrance.settled(zone);
    await clock.advance(50);
    expect(entered.slice(160)).toEqual(Array.from({ length: 5 }, () => 'zone-32'));
    arrive('zone-0');
    arrive('zone-1');
    expect(entered.slice(165)).toEqual(['zone-0', 'zone-1']);
  });

  it('free their place when they do nothing for a second, or are not done after ten', async () => {
    for (const zone of names(33)) arrive(zone);
    await clock.advance(999);
    // More zones are let in when the process has time for them.
    expect(entered).toHaveLength(33);
    entrance = new AdmissionQueue(clock, () => 0.8);
    entered = [];
    for (const zone of names(33)) arrive(zone);
    for (let n = 0; n < 9; n += 1) {
      await clock.advance(900);
      for (const zone of names(32)) entrance.progress(zone);
    }
    expect(entered).toHaveLength(32);
    await clock.advance(999);
    expect(entered).toHaveLength(32);
    await clock.advance(1);
    expect(entered).toHaveLength(33);
  });

  it('are more at a time while the process has time for them, and fewer while it has not', async () => {
    for (const zone of names(500)) arrive(zone);
    for (const most of [32, 48, 64]) {
      await clock.advance(50);
      expect(entered).toHaveLength(most);
    }
    const slow = new ManualClock();
    const waits: (() => void)[] = [];
    // Every timer of this clock comes 300 ms late.
    const late = { ...clockOf(slow), after: (ms: number, task: () => void) => slow.after(ms + 300, task) };
    entrance = new AdmissionQueue(late, () => 0.1);
    entered = [];
    for (const zone of names(500)) waits.push(arrive(zone));
    await slow.advance(350);
    expect(entered).toHaveLength(32);
    for (let n = 0; n < 32; n += 1) entrance.settled(`zone-${String(n)}`);
    expect(entered).toHaveLength(64);
    for (let n = 32; n < 63; n += 1) entrance.settled(`zone-${String(n)}`);
    await slow.advance(350);
    expect(entered).toHaveLength(63 + 16);
  });

  it('enter one at a time while the heap is nearly full, and the oldest first', async () => {
    heap = 0.9;
    for (const zone of names(60)) arrive(zone);
    await clock.advance(50);
    expect(entered).toEqual(names(1));
    entrance.settled('zone-0');
    expect(entered).toEqual(names(2));
    heap = 0.1;
    await clock.advance(50);
    expect(entered).toHaveLength(49);
  });

  it('keep their place when they connect again, and take none while they are away', async () => {
    heap = 0.8;
    const leave = new Map(names(60).map((zone) => [zone, arrive(zone)]));
    await clock.advance(50);
    for (const zone of ['zone-50', 'zone-40']) leave.get(zone)?.();
    expect(entrance.waiting).toEqual({ zones: 26, longestMs: 50 });
    for (const zone of ['other', 'zone-50', 'late', 'zone-40']) arrive(zone);
    for (let n = 0; n < 62; n += 1) {
      entrance.settled(entered[n] ?? '');
      if (n % 16 === 15) await clock.advance(50);
    }
    expect(entered.slice(-4)).toEqual(['zone-50', 'zone-40', 'other', 'late']);
    expect(new Set(entered).size).toBe(62);
  });

  it('keep their place for a minute after they left, however long they had waited', async () => {
    // One zone enters at a time, and each stays for ten seconds.
    heap = 0.9;
    const leave = new Map(names(20).map((zone) => [zone, arrive(zone)]));
    const pass = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 1) {
        const newest = entered.at(-1) ?? '';
        entrance.progress(newest);
        await clock.advance(500);
        entrance.progress(newest);
        await clock.advance(500);
      }
    };
    await pass(70);
    expect(entrance.waiting.longestMs).toBeGreaterThan(60_000);
    leave.get('zone-18')?.();
    leave.get('zone-19')?.();
    arrive('late');
    await pass(50);
    arrive('zone-19');
    await pass(11);
    arrive('zone-18');
    heap = 0.1;
    await clock.advance(50);
    expect(entered.slice(-3)).toEqual(['zone-19', 'late', 'zone-18']);
  });

  it('lose the place of an earlier wait once they have entered', async () => {
    heap = 0.9;
    arrive('zone-0');
    const leave = arrive('zone-1');
    await clock.advance(1);
    arrive('zone-2');
    leave();
    const end = arrive('zone-1');
    arrive('late');
    entrance.settled('zone-0');
    expect(entered).toEqual(['zone-0', 'zone-1']);
    await clock.advance(1);
    end();
    arrive('zone-1');
    for (const zone of ['zone-2', 'late']) entrance.settled(zone);
    expect(entered.slice(2)).toEqual(['zone-2', 'late', 'zone-1']);
  });

  it('leave no timer once they have everything', () => {
    arrive('east');
    expect(clock.sleepers).toBeGreaterThan(0);
    entrance.settled('east');
    expect(clock.sleepers).toBe(0);
  });

  it('are forgotten when they have gone', async () => {
    const leave = names(100).map(arrive);
    for (const end of leave) {
      end();
      end();
    }
    expect(entrance.waiting.zones).toBe(0);
    entered = [];
    for (const zone of names(32)) arrive(zone);
    await clock.advance(50);
    expect(entered).toHaveLength(32);
  });

  it('all zones enter, after any events', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ zone: fc.nat(80), what: fc.constantFrom('come', 'go', 'settle', 'answer', 'wait') }), {
          maxLength: 300,
        }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (steps, used) => {
          clock = new ManualClock();
          entrance = new AdmissionQueue(clock, () => used);
          const here = new Map<string, (() => void)[]>();
          const inside = new Set<string>();
          for (const { zone: n, what } of steps) {
            const zone = String(n);
            if (what === 'come') {
              const leave = entrance.enter(zone, () => void inside.add(zone));
              here.set(zone, [...(here.get(zone) ?? []), leave]);
            } else if (what === 'go') {
              for (const leave of here.get(zone) ?? []) leave();
              here.delete(zone);
              inside.delete(zone);
            } else if (what === 'settle') entrance.settled(zone);
            else if (what === 'answer') entrance.progress(zone);
            else await clock.advance(30);
          }
          await clock.advance(200_000);
          expect([...here.keys()].filter((zone) => !inside.has(zone))).toEqual([]);
          expect(entrance.waiting.zones).toBe(0);
        },
      ),
    );
  });
});

function clockOf(clock: ManualClock) {
  return { now: () => clock.now(), elapsed: () => clock.elapsed(), sleep: (ms: number) => clock.sleep(ms) };
}

it('the used part of the heap is between nothing and all of it', () => {
  expect(usedHeap()).toBeGreaterThan(0);
  expect(usedHeap()).toBeLessThan(1);
});
