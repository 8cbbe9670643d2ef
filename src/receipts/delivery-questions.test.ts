import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ReplicaQuestions } from '../replicas/replica-questions.ts';
import { createLogger } from '../base/log.ts';
import type { DeliveryNow } from '../kds/sender/delivery.ts';
import type { ResourceKey } from '../resource/types.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { DeliveryQuestions, type DeliveryQuestionsOptions } from './delivery-questions.ts';

const log = createLogger('silent');
const since = new Date('2026-01-01T00:00:00.000Z');
const one = { type: 'MeshTimeout', mesh: 'shop', names: ['slow'] };

let clock: ManualClock;
let store: TinyStore;
let stop: AbortController;
beforeEach(() => {
  clock = new ManualClock();
  store = new TinyStore();
  stop = new AbortController();
});
afterEach(() => stop.abort());

/** A replica with these senders. */
function answering(instanceId: string, senders: DeliveryQuestionsOptions['senders']): DeliveryQuestions {
  const questions = new ReplicaQuestions({ store, instanceId, clock, log });
  const deliveries = new DeliveryQuestions({ questions, senders });
  void questions.run(stop.signal);
  return deliveries;
}

/** A replica with the streams of these zones. */
async function replica(
  instanceId: string,
  zones: Record<string, DeliveryNow>,
  caughtUp: () => Promise<void> = async () => undefined,
): Promise<DeliveryQuestions> {
  const senders = { zones: () => Object.keys(zones), caughtUp, deliveryNow: (zone: string) => zones[zone] };
  const deliveries = answering(instanceId, senders);
  await clock.advance(0);
  return deliveries;
}

describe('the state of a resource in zones of other replicas', () => {
  it('comes from the replicas with their streams', async () => {
    const here = await replica('a', {});
    const deliveries: Record<string, DeliveryNow> = {
      east: { state: 'acknowledged', reason: null, since },
      west: { state: 'pending', reason: null, since: null },
      north: { state: 'refused', reason: 'no such field', since: null },
    };
    await replica('b', deliveries);
    await replica('c', {
      south: { state: 'hidden', reason: null, since: null },
      other: { state: 'acknowledged', reason: null, since },
    });
    const zones = new Set(['east', 'west', 'north', 'south']);
    expect(Object.fromEntries((await here.of(one, zones, stop.signal))[0] ?? [])).toEqual({
      ...deliveries,
      south: { state: 'hidden', reason: null, since: null },
    });
  });

  it('is answered when the log of that replica has every committed change', async () => {
    const here = await replica('a', {});
    const deliveries: Record<string, DeliveryNow> = { east: { state: 'acknowledged', reason: null, since } };
    await replica('b', deliveries, async () => {
      deliveries['east'] = { state: 'pending', reason: null, since };
    });
    expect((await here.of(one, new Set(['east']), stop.signal))[0]?.get('east')).toEqual({
      state: 'pending',
      reason: null,
      since,
    });
  });

  it('is missing for a zone of a replica that does not answer', async () => {
    const here = await replica('a', {});
    const asking = here.of(one, new Set(['east']), stop.signal);
    await clock.advance(2_000);
    expect(await asking).toEqual([new Map()]);
  });

  it('asks no other replica without such zones', async () => {
    const here = await replica('a', {});
    store.mark = () => Promise.reject(new Error('no replica should be asked'));
    expect(await here.of(one, new Set(), stop.signal)).toEqual([new Map()]);
  });

  it('comes for many resources in few questions, each for its own resource', async () => {
    const names = Array.from({ length: 250 }, (_, at) => `t-${String(at)}`);
    const zones = ['east', 'west'];
    let asked = 0;
    const deliveryNow = (zone: string, { name }: ResourceKey): DeliveryNow => {
      const at = Number(name.slice(2));
      if (zone === 'west' && at % 2 === 0) return { state: 'refused', reason: `no ${'x'.repeat(100)}`, since: null };
      return { state: 'acknowledged', reason: null, since: new Date(since.getTime() + (at % 5)) };
    };
    const caughtUp = async (): Promise<void> => void (asked += 1);
    const senders = { zones: () => zones, caughtUp, deliveryNow };
    answering('b', senders);
    const here = await replica('a', {});
    const found = await here.of({ ...one, names }, new Set(zones), stop.signal);
    expect(asked).toBe(3);
    expect(found).toHaveLength(250);
    for (const [at, deliveries] of found.entries()) {
      expect(deliveries.get('east')).toEqual({
        state: 'acknowledged',
        reason: null,
        since: new Date(since.getTime() + (at % 5)),
      });
      expect(deliveries.get('west')?.state).toBe(at % 2 === 0 ? 'refused' : 'acknowledged');
    }
  });

  it('comes without times in one notification for many zones that have all', async () => {
    const names = Array.from({ length: 10 }, (_, at) => `t-${String(at)}`);
    const zones = Array.from({ length: 100 }, (_, at) => `zone-${String(at)}`);
    const deliveryNow = (zone: string, { name }: ResourceKey): DeliveryNow => {
      if (zone === 'zone-7' && name === 't-3') return { state: 'refused', reason: 'too new', since: null };
      return { state: 'acknowledged', reason: null, since: new Date(since.getTime() + Number(name.slice(2))) };
    };
    const senders = { zones: () => zones, caughtUp: async () => undefined, deliveryNow };
    answering('b', senders);
    const here = await replica('a', {});
    const mark = vi.spyOn(store, 'mark');
    const found = await here.of({ ...one, names, isBrief: true }, new Set(zones), stop.signal);
    expect(mark.mock.calls.length).toBe(2);
    expect(found.map((deliveries) => deliveries.size)).toEqual(names.map(() => 100));
    expect(found[3]?.get('zone-7')).toEqual({ state: 'refused', reason: 'too new', since: null });
    expect(found[4]?.get('zone-7')).toEqual({ state: 'acknowledged', reason: null, since: null });
    expect(found[9]?.get('zone-99')).toEqual({ state: 'acknowledged', reason: null, since: null });
  });

  it('is missing where an answer about a zone is longer than a notification', async () => {
    const names = Array.from({ length: 100 }, (_, at) => `t-${String(at)}`);
    const deliveryNow = (_zone: string, { name }: ResourceKey): DeliveryNow => ({
      state: 'refused',
      reason: name.padEnd(100, 'x'),
      since: null,
    });
    const senders = { zones: () => ['east'], caughtUp: async () => undefined, deliveryNow };
    answering('b', senders);
    const here = await replica('a', {});
    const found = await here.of({ ...one, names }, new Set(['east']), stop.signal);
    const answered = found.filter((deliveries) => deliveries.has('east')).length;
    expect(answered).toBeGreaterThan(30);
    expect(answered).toBeLessThan(100);
  });
});
