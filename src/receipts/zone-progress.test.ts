import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReplicaQuestions } from '../replicas/replica-questions.ts';
import { createLogger } from '../base/log.ts';
import type { TypeProgress } from '../kds/sender/open-senders.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { ZoneProgress } from './zone-progress.ts';

const log = createLogger('silent');
const since = new Date('2026-01-01T00:00:00.000Z');
const late: TypeProgress = { type: 'MeshTimeout', behind: 2, since, confirmedAt: null, refused: 1, withheld: 3 };
const current: TypeProgress = { type: 'Mesh', behind: 0, since: null, confirmedAt: since, refused: 0, withheld: 0 };
const connectedTo = (globalInstanceId: string) => ({ subscriptions: [{ connectTime: since.toISOString(), globalInstanceId }] });

let clock: ManualClock;
let store: TinyStore;
let stop: AbortController;
beforeEach(() => {
  clock = new ManualClock();
  store = new TinyStore();
  stop = new AbortController();
});
afterEach(() => stop.abort());

/** A replica with the streams of these zones. */
async function replica(instanceId: string, zones: Record<string, readonly TypeProgress[]>): Promise<ZoneProgress> {
  const senders = { progressOf: (zone: string) => zones[zone] };
  const questions = new ReplicaQuestions({ store, instanceId, clock, log });
  const progress = new ZoneProgress({ mode: 'global', questions, instanceId, senders });
  void questions.run(stop.signal);
  await clock.advance(0);
  return progress;
}

describe('the progress of zones', () => {
  it('comes from the streams of this replica and from those of the others', async () => {
    const here = await replica('a', { east: [late] });
    await replica('b', { west: [late, current], south: [current] });
    const zones = [
      { name: 'east', insight: connectedTo('a') },
      { name: 'west', insight: connectedTo('b') },
      { name: 'north', insight: {} },
    ];
    expect(Object.fromEntries(await here.of(zones, stop.signal))).toEqual({
      east: { instanceId: 'a', types: [late] },
      west: { instanceId: 'b', types: [late, current] },
      north: { instanceId: null, types: null },
    });
  });

  it('of many zones with long names is asked for in parts that fit a notification', async () => {
    const names = Array.from({ length: 100 }, (_, at) => `${'z'.repeat(58)}-${String(at)}`);
    const here = await replica('a', {});
    await replica('b', Object.fromEntries(names.map((name) => [name, [current]])));
    const mark = store.mark.bind(store);
    const bytes: number[] = [];
    store.mark = async (id) => {
      bytes.push(JSON.stringify({ mark: id }).length);
      await mark(id);
    };
    const found = await here.of(
      names.map((name) => ({ name, insight: connectedTo('b') })),
      stop.signal,
    );
    expect([...found.values()].every(({ types }) => types?.length === 1)).toBe(true);
    expect(Math.max(...bytes)).toBeLessThan(8_000);
    expect(bytes.length).toBeGreaterThan(2);
  });

  it('asks no replica while all zones are connected here or away', async () => {
    const here = await replica('a', { east: [current] });
    store.mark = () => Promise.reject(new Error('no replica should be asked'));
    const insight = {
      subscriptions: [{ connectTime: since.toISOString(), disconnectTime: since.toISOString(), globalInstanceId: 'b' }],
    };
    const zones = [
      { name: 'east', insight: connectedTo('a') },
      { name: 'west', insight },
    ];
    expect((await here.of(zones, stop.signal)).get('west')).toEqual({ instanceId: null, types: null });
  });

  it('names the replica that does not answer', async () => {
    const here = await replica('a', {});
    const asking = here.of([{ name: 'west', insight: connectedTo('b') }], stop.signal);
    await clock.advance(2_000);
    expect((await asking).get('west')).toEqual({ instanceId: 'b', types: null });
  });
});
