// A slow reader of the change feed gets all pending changes in their order, or `all` for too many.
import { expect, it, vi } from 'vitest';
import { fakeDatabase } from '../../test/support/fake-database.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { createLogger } from '../base/log.ts';
import { ChangeFeed } from './change-feed.ts';
import type { Database, OtherChannels } from './database.ts';
import type { StoreChange } from './resource-store.ts';

/** No reader of these tests follows insights. */
const noOthers: OtherChannels = { add: () => Promise.resolve(), remove: () => Promise.resolve() };

type Slow = {
  readonly notify: (payload: object | null) => void;
  readonly next: () => Promise<StoreChange | undefined>;
  /** Ends the connection. The feed notices. */
  readonly disconnect: () => Promise<void>;
  /** Lets the feed make the next connection. */
  readonly reconnect: () => Promise<void>;
};

/** Runs `use` with a reader that reads when the test calls it, after the first `all`. */
async function withReader(use: (reader: Slow) => Promise<void>): Promise<void> {
  let publish: (payload: string) => void = () => undefined;
  let disconnect: (reason: Error) => void = () => undefined;
  const clock = new ManualClock();
  const database: Pick<Database, 'clock' | 'listen'> = {
    clock,
    listen: async (_channel, onListening, onPayload, signal) => {
      publish = onPayload;
      void onListening(noOthers);
      await new Promise((resolve, reject) => {
        disconnect = reject;
        signal.addEventListener('abort', resolve);
      });
    },
  };
  const feed = new ChangeFeed(database as Database, createLogger('silent'));
  const changes = feed.changes(new AbortController().signal)[Symbol.asyncIterator]();
  const next = async (): Promise<StoreChange | undefined> => {
    const { value } = (await changes.next()) as { value: StoreChange | undefined };
    return value;
  };
  expect(await next()).toEqual({ kind: 'all' });
  await use({
    notify: (payload) => publish(JSON.stringify(payload)),
    next,
    disconnect: async () => {
      disconnect(new Error('ended'));
      await clock.advance(0);
    },
    reconnect: () => clock.advance(2_000),
  });
  await feed.close();
}

const keys = { kind: 'keys', keys: [{ type: 'MeshTimeout', mesh: 'default', name: 'a' }] };

it('the feed delivers a mark after the changes committed before it', async () => {
  await withReader(async ({ notify, next }) => {
    notify({ type: 'MeshTimeout', keys: [['default', 'a']] });
    notify({ type: 'MeshRetry' });
    notify({ mark: 'm' });
    expect([await next(), await next(), await next()]).toEqual([
      keys,
      { kind: 'type', type: 'MeshRetry' },
      { kind: 'mark', id: 'm' },
    ]);
  });
});

it('the feed names everything for a notification that it cannot read', async () => {
  await withReader(async ({ notify, next }) => {
    const unknown = [null, {}, { mark: 5 }, { type: 5 }, { type: 'Mesh', keys: [['', 5]] }, { type: 'Mesh', keys: [null] }];
    for (const payload of unknown) {
      notify(payload);
      expect(await next()).toEqual({ kind: 'all' });
    }
  });
});

it('the feed delivers each of 10,000 pending changes, and one change in place of more', async () => {
  await withReader(async ({ notify, next }) => {
    for (let mark = 0; mark < 10_000; mark += 1) notify({ mark: String(mark) });
    for (let mark = 0; mark < 10_000; mark += 1) expect(await next()).toEqual({ kind: 'mark', id: String(mark) });
    for (let mark = 0; mark < 10_001; mark += 1) notify({ mark: String(mark) });
    notify({ mark: 'last' });
    expect(await next()).toEqual({ kind: 'all' });
    expect(await next()).toEqual({ kind: 'mark', id: 'last' });
  });
});

it('the feed reports the loss of its connection after the earlier changes, and names everything on the next connection', async () => {
  await withReader(async ({ notify, next, disconnect, reconnect }) => {
    notify({ mark: 'm' });
    await disconnect();
    expect([await next(), await next()]).toEqual([{ kind: 'mark', id: 'm' }, { kind: 'lost' }]);
    await reconnect();
    expect(await next()).toEqual({ kind: 'all' });
  });
});

it('the feed delivers a loss of its connection with more pending changes than its limit', async () => {
  await withReader(async ({ notify, next, disconnect, reconnect }) => {
    for (let mark = 0; mark < 10_000; mark += 1) notify({ mark: String(mark) });
    await disconnect();
    for (let mark = 0; mark < 10_000; mark += 1) expect(await next()).toMatchObject({ kind: 'mark' });
    for (let mark = 0; mark < 10_000; mark += 1) notify({ mark: String(mark) });
    expect([await next(), await next()]).toEqual([{ kind: 'all' }, { kind: 'lost' }]);
    await reconnect();
    expect(await next()).toEqual({ kind: 'all' });
  });
});

it('the feed names the types whose rows differ from the last look, every five minutes', async () => {
  const clock = new ManualClock();
  let digests: Record<string, string> | null = { Mesh: '1', Zone: '1' };
  const db = fakeDatabase(() => {
    if (digests === null) throw new Error('the database does not answer');
    return Object.entries(digests).map(([type, digest]) => ({ type, digest }));
  });
  const listen: Database['listen'] = async (_channel, onListening, _onPayload, signal) => {
    void onListening(noOthers);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  };
  const database: Pick<Database, 'clock' | 'listen' | 'db'> = { clock, listen, db };
  const feed = new ChangeFeed(database as Database, createLogger('silent'));
  const stop = new AbortController();
  const seen: StoreChange[] = [];
  const reading = (async () => {
    for await (const change of feed.changes(stop.signal)) seen.push(change);
  })();
  /** The keys that a look finds. */
  const look = async (): Promise<string[]> => {
    seen.length = 0;
    await clock.advance(299_999);
    expect(seen).toEqual([]);
    await clock.advance(1);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    return seen.map((change) => (change.kind === 'type' ? change.type : change.kind)).sort();
  };
  await clock.advance(0);
  expect(seen).toEqual([{ kind: 'all' }]);
  expect(await look()).toEqual(['all']);
  expect(await look()).toEqual([]);
  digests = { Mesh: '2', Secret: '1' };
  expect(await look()).toEqual(['Mesh', 'Secret', 'Zone']);
  digests = null;
  expect(await look()).toEqual([]);
  digests = { Mesh: '2', Secret: '2' };
  expect(await look()).toEqual(['Secret']);
  stop.abort();
  await reading;
  await feed.close();
});

it('the feed connects again 50 ms after it was connected, and otherwise after twice the last pause, up to two seconds', async () => {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const clock = new ManualClock();
  const net = 7;
  const pauses: number[] = [];
  vi.spyOn(clock, 'sleep').mockImplementation(async (ms, signal) => {
    if (ms !== net) pauses.push(ms);
    else await new Promise((resolve) => signal?.addEventListener('abort', resolve));
  });
  const stop = new AbortController();
  let attempts = 0;
  const listen: Database['listen'] = async (_channel, onListening) => {
    attempts += 1;
    if (attempts === 8) await onListening(noOthers);
    if (attempts === 10) stop.abort();
    await new Promise(setImmediate);
    throw new Error('no connection');
  };
  const database: Pick<Database, 'clock' | 'listen'> = { clock, listen };
  const feed = new ChangeFeed(database as Database, createLogger('silent'), net);
  const seen: StoreChange[] = [];
  for await (const change of feed.changes(stop.signal)) seen.push(change);
  await feed.close();
  random.mockRestore();
  expect(seen).toEqual([{ kind: 'all' }, { kind: 'lost' }]);
  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000, 50, 100]);
});
