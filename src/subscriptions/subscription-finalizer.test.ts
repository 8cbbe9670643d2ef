import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import type { JsonObject } from '../resource/types.ts';
import { runSubscriptionFinalizer } from './subscription-finalizer.ts';
import { isOnline } from '../resource/online-status.ts';

const MINUTE = 60_000;
const key = { type: 'ZoneInsight', mesh: '', name: 'east' };
const insight = (generation: number): JsonObject => ({
  subscriptions: [
    { id: 'old', connectTime: '2025-12-31T00:00:00Z', disconnectTime: '2025-12-31T01:00:00Z' },
    { id: 'new', connectTime: '2026-01-01T00:00:00Z', generation },
  ],
});

async function setUp() {
  const store = new TinyStore();
  const clock = new ManualClock();
  const stop = new AbortController();
  const put = (spec: JsonObject) => store.write({ op: 'put', key, labels: {}, spec });
  await put(insight(3));
  const running = runSubscriptionFinalizer({ type: 'ZoneInsight', store, clock, log: pino({ level: 'silent' }) }, stop.signal);
  const spec = async (): Promise<JsonObject> => (await store.get(key))?.spec ?? {};
  const end = () => (stop.abort(), running);
  return { clock, put, spec, end, store };
}

describe('the finalizer of subscriptions', () => {
  it('closes a subscription after five minutes without a new generation, not before', async () => {
    const { clock, spec, end } = await setUp();
    await clock.advance(4.9 * MINUTE);
    expect(isOnline(await spec())).toBe(true);
    await clock.advance(0.2 * MINUTE);
    expect(await spec()).toEqual({
      subscriptions: [
        { id: 'old', connectTime: '2025-12-31T00:00:00Z', disconnectTime: '2025-12-31T01:00:00Z' },
        { id: 'new', connectTime: '2026-01-01T00:00:00Z', generation: 3, disconnectTime: '2026-01-01T00:05:00.000Z' },
      ],
    });
    await end();
  });

  it('closes a subscription after five minutes also when the date is set back', async () => {
    const { clock, spec, end } = await setUp();
    await clock.advance(MINUTE);
    clock.moveDate(-180 * MINUTE);
    await clock.advance(4.1 * MINUTE);
    expect(isOnline(await spec())).toBe(false);
    await end();
  });

  it('does not close a subscription before five minutes when the date is set on', async () => {
    const { clock, spec, end } = await setUp();
    await clock.advance(MINUTE);
    clock.moveDate(60 * MINUTE);
    await clock.advance(3.9 * MINUTE);
    expect(isOnline(await spec())).toBe(true);
    await end();
  });

  it('keeps a subscription with a rising generation', async () => {
    const { clock, put, spec, end } = await setUp();
    for (let generation = 4; generation < 9; generation += 1) {
      await clock.advance(2.4 * MINUTE);
      await put(insight(generation));
    }
    expect(isOnline(await spec())).toBe(true);
    await end();
  });

  it('leaves the row to a concurrent writer', async () => {
    const { clock, store, put, spec, end } = await setUp();
    await clock.advance(4 * MINUTE);
    store.beforeWrite = async (write) => {
      store.beforeWrite = () => undefined;
      if (write.op === 'update') await put(insight(4));
      return undefined;
    };
    await clock.advance(1 * MINUTE);
    expect(isOnline(await spec())).toBe(true);
    await end();
  });
});
