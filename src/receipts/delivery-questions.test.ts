import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '../base/log.ts';
import type { Delivery } from '../kds/open-senders.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { DeliveryQuestions } from './delivery-questions.ts';

const log = createLogger('silent');
const since = new Date('2026-01-01T00:00:00.000Z');
const row = { type: 'MeshTimeout', mesh: 'shop', name: 'slow' };

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
async function replica(
  instanceId: string,
  zones: Record<string, Delivery>,
  caughtUp: () => Promise<void> = async () => undefined,
): Promise<DeliveryQuestions> {
  const senders = { zones: () => Object.keys(zones), caughtUp, deliveryNow: (zone: string) => zones[zone] };
  const questions = new DeliveryQuestions({ store, instanceId, senders, clock, log });
  void questions.run(stop.signal);
  await clock.advance(0);
  return questions;
}

describe('what zones of other replicas have of a resource', () => {
  it('comes from the replicas with their streams', async () => {
    const here = await replica('a', {});
    const deliveries: Record<string, Delivery> = {
      east: { kind: 'confirmed', since },
      west: { kind: 'waiting', since: null },
      north: { kind: 'refused', reason: 'no such field' },
    };
    await replica('b', deliveries);
    await replica('c', { south: { kind: 'unseen' }, other: { kind: 'confirmed', since } });
    const zones = new Set(['east', 'west', 'north', 'south']);
    expect(Object.fromEntries(await here.of(row, zones, stop.signal))).toEqual({ ...deliveries, south: { kind: 'unseen' } });
  });

  it('is answered when the log of that replica has every committed change', async () => {
    const here = await replica('a', {});
    const deliveries: Record<string, Delivery> = { east: { kind: 'confirmed', since } };
    await replica('b', deliveries, async () => {
      deliveries['east'] = { kind: 'waiting', since };
    });
    expect((await here.of(row, new Set(['east']), stop.signal)).get('east')).toEqual({ kind: 'waiting', since });
  });

  it('is missing for a zone of a replica that does not answer', async () => {
    const here = await replica('a', {});
    const asking = here.of(row, new Set(['east']), stop.signal);
    await clock.advance(2_000);
    expect(await asking).toEqual(new Map());
  });

  it('asks no replica without such zones', async () => {
    const here = await replica('a', {});
    store.mark = () => Promise.reject(new Error('no replica should be asked'));
    expect(await here.of(row, new Set(), stop.signal)).toEqual(new Map());
  });
});
