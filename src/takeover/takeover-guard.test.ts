import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '../base/log.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import type { JsonObject } from '../resource/types.ts';
import { TAKEN_OVER, TakeoverGuard, type GuardOptions } from './takeover-guard.ts';

const CATALOG = { type: 'Config', mesh: '', name: 'cp-catalog' };
const OLD: JsonObject = { targetRef: { kind: 'Mesh' }, from: [{ targetRef: { kind: 'Mesh' }, default: {} }], to: [{}] };

let store: TinyStore;
let clock: ManualClock;
let stop: AbortController;

beforeEach(() => {
  store = new TinyStore();
  clock = new ManualClock();
  stop = new AbortController();
});

afterEach(() => stop.abort());

function guard(options: Partial<GuardOptions> = {}): TakeoverGuard {
  return new TakeoverGuard({ store, clock, log: createLogger('silent'), accept: [], release: null, ...options });
}

async function put(key: { type: string; mesh: string; name: string }, spec: JsonObject): Promise<void> {
  await store.write({ op: 'put', key, labels: {}, spec });
}

const policy = { type: 'MeshTimeout', mesh: 'shop', name: 'old' };

describe('the port for zones', () => {
  it('opens on a database on which no Kuma control plane ran, whatever its rows are', async () => {
    await put(policy, OLD);
    expect(await guard().passes()).toBe(true);
    expect(await store.get(TAKEN_OVER)).toBeUndefined();
  });

  it('stays closed on a database of Kuma whose zones would lose something', async () => {
    await put(CATALOG, { config: '{}' });
    await put(policy, OLD);
    const closed = guard();
    expect(await closed.passes()).toBe(false);
    expect(closed.kinds()).toEqual(['MeshTimeout.from']);
  });

  it('opens when each loss is accepted by name, or when the database is one of Kuma 3', async () => {
    await put(CATALOG, { config: '{}' });
    await put(policy, OLD);
    expect(await guard({ accept: ['MeshTimeout.to'] }).passes()).toBe(false);
    expect(await guard({ release: 3 }).passes()).toBe(true);
    await store.write({ op: 'delete', key: TAKEN_OVER });
    expect(await guard({ accept: ['MeshTimeout.from'] }).passes()).toBe(true);
  });

  it('opens by itself when the last loss is mended', async () => {
    await put(CATALOG, { config: '{}' });
    await put(policy, OLD);
    const closed = guard();
    let isOpen = false;
    const passed = closed.passed(stop.signal).then(() => (isOpen = true));
    await vi.waitFor(() => expect(clock.sleepers).toBe(1));
    await clock.advance(5_000);
    expect([isOpen, closed.kinds()]).toEqual([false, ['MeshTimeout.from']]);
    await put(policy, { to: [{}] });
    await clock.advance(5_000);
    await passed;
    expect(closed.kinds()).toEqual([]);
  });

  it('does not close again for what is written later, until a Kuma control plane has run on the database', async () => {
    await put(CATALOG, { config: '{}' });
    expect(await guard().passes()).toBe(true);
    await put(policy, OLD);
    expect(await guard().passes()).toBe(true);
    vi.spyOn(store, 'getMany').mockImplementation(async (keys) => {
      const rows = await Promise.all(keys.map((key) => store.get(key)));
      const later = new Date(Date.now() + 60_000);
      return rows
        .filter((row) => row !== undefined)
        .map((row) => (row.name === CATALOG.name ? { ...row, modificationTime: later } : row));
    });
    expect(await guard().passes()).toBe(false);
  });

  it('ends its wait with the signal', async () => {
    await put(CATALOG, { config: '{}' });
    await put(policy, OLD);
    const waiting = guard().passed(stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
  });
});
