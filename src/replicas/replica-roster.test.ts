import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../base/log.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { BEAT_MS, NO_SHARE_MS, ReplicaRoster, SILENT_MS } from './replica-roster.ts';

const log = createLogger('silent');
let clock: ManualClock;
let store: TinyStore;
const stops: AbortController[] = [];
beforeEach(() => {
  clock = new ManualClock();
  store = new TinyStore();
});
afterEach(() => stops.splice(0).forEach((stop) => stop.abort()));

async function replica(instanceId: string) {
  const stop = new AbortController();
  stops.push(stop);
  const roster = new ReplicaRoster({ store, instanceId, version: '1', clock, log });
  const ended = roster.run(stop.signal);
  await clock.advance(0);
  const known = (): string[] => roster.replicas().map((one) => `${one.instanceId}${one.isLeader ? ' leads' : ''}`);
  return { roster, known, stop, ended };
}

describe('the roster of replicas', () => {
  it('knows replicas that started before and after this one', async () => {
    const first = await replica('a');
    const second = await replica('b');
    const third = await replica('c');
    for (const { known } of [first, second, third]) expect(known()).toEqual(['a', 'b', 'c']);
  });

  it('knows which replica leads, and since when', async () => {
    const first = await replica('a');
    const second = await replica('b');
    let heard = 0;
    second.roster.onChange(() => (heard += 1));
    await clock.advance(5_000);
    first.roster.setLeader(true);
    await clock.advance(0);
    expect(second.known()).toEqual(['a leads', 'b']);
    expect(second.roster.replicas()[0]?.since).toBe('2026-01-01T00:00:05.000Z');
    expect(heard).toBe(1);
    await clock.advance(2 * BEAT_MS);
    expect(heard).toBe(1);
  });

  it('knows the zones of each replica that takes some', async () => {
    const [first, second, zone] = [await replica('a'), await replica('b'), await replica('c')];
    first.roster.setZones(3);
    second.roster.setZones(0);
    await clock.advance(0);
    const sharers = [
      { instanceId: 'a', zones: 3 },
      { instanceId: 'b', zones: 0 },
    ];
    for (const { roster } of [first, second, zone]) expect(roster.sharers()).toEqual(sharers);
    await second.roster.setDraining();
    await clock.advance(0);
    expect(first.roster.sharers()).toEqual(sharers.slice(0, 1));
    expect(zone.roster.replicas().map(({ zones, isDraining }) => [zones, isDraining])).toEqual([
      [3, false],
      [0, true],
      [null, false],
    ]);
  });

  it('gives no share to a replica that says nothing, and always one to itself', async () => {
    const [first, second] = [await replica('a'), await replica('b')];
    first.roster.setZones(1);
    second.roster.setZones(1);
    await clock.advance(NO_SHARE_MS);
    expect(first.roster.sharers()).toHaveLength(2);
    await clock.advance(1);
    expect(first.roster.sharers().map(({ instanceId }) => instanceId)).toEqual(['a']);
    second.roster.setZones(2);
    await clock.advance(0);
    expect(first.roster.sharers()).toHaveLength(2);
  });

  it('drops a replica that says that it ends, and keeps one that was killed as silent', async () => {
    const first = await replica('a');
    const second = await replica('b');
    const third = await replica('c');
    second.stop.abort();
    await second.ended;
    await clock.advance(0);
    expect(first.known()).toEqual(['a', 'c']);
    // No mark of the replica arrives any more.
    store.mark = () => Promise.resolve();
    third.stop.abort();
    await third.ended;
    await clock.advance(SILENT_MS);
    expect(first.roster.replicas().filter((one) => first.roster.isSilent(one))).toEqual([]);
    await clock.advance(1);
    expect(first.roster.replicas().filter((one) => first.roster.isSilent(one))).toMatchObject([{ instanceId: 'c' }]);
  });

  it.each([-10_800_000, 10_800_000])(
    'counts a killed replica as silent, and only that, when the date is set by %i ms',
    async (ms) => {
      const [first, second, third] = [await replica('a'), await replica('b'), await replica('c')];
      for (const { roster } of [first, second, third]) roster.setZones(1);
      await clock.advance(0);
      clock.moveDate(ms);
      const sharers = (): string[] => first.roster.sharers().map(({ instanceId }) => instanceId);
      expect([sharers(), first.known()]).toEqual([['a', 'b', 'c'], ['a', 'b', 'c']]); // oxfmt-ignore
      const mark = store.mark.bind(store);
      store.mark = () => Promise.resolve();
      third.stop.abort();
      await third.ended;
      store.mark = mark;
      await clock.advance(NO_SHARE_MS);
      second.roster.setZones(2);
      await clock.advance(1);
      expect(sharers()).toEqual(['a', 'b']);
      await clock.advance(SILENT_MS);
      expect(first.roster.replicas().filter((one) => first.roster.isSilent(one))).toMatchObject([{ instanceId: 'c' }]);
    },
  );

  it('says nothing after its end, as when it ceases to lead late', async () => {
    const [first, second] = [await replica('a'), await replica('b')];
    first.roster.setLeader(true);
    first.stop.abort();
    await first.ended;
    first.roster.setLeader(false);
    first.roster.setZones(0);
    await first.roster.setDraining();
    await clock.advance(0);
    expect(second.known()).toEqual(['b']);
  });

  it('ends after all that it said before', async () => {
    const [first, second] = [await replica('a'), await replica('b')];
    const mark = store.mark.bind(store);
    const slow = Promise.withResolvers<void>();
    store.mark = async (id) => {
      store.mark = mark;
      await slow.promise;
      await mark(id);
    };
    first.roster.setZones(1);
    first.stop.abort();
    await clock.advance(10);
    slow.resolve();
    await first.ended;
    await clock.advance(0);
    expect(second.known()).toEqual(['b']);
  });

  it('ignores marks that are none of a replica', async () => {
    const first = await replica('a');
    for (const text of ['x', Buffer.from('[]').toString('base64url'), Buffer.from('{"kind":"here"}').toString('base64url')])
      await store.mark(`replica ${text}`);
    await clock.advance(0);
    expect(first.known()).toEqual(['a']);
  });
});
