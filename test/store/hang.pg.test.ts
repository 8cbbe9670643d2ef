// A database hangs: every call gets an answer meanwhile, and later calls work.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { answerInTime } from '../../src/store/answer-in-time.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { ResourceStore, Write } from '../../src/store/resource-store.ts';
import { TcpProxy } from '../chaos/tcp-proxy.ts';
import { cloneDatabase } from '../support/postgres-database.ts';

const UNKNOWN = 'the write may have been stored: read the resource before you write it again';

/** In place of eight seconds: longer than a busy machine takes for a statement. */
const ANSWER_MS = 2_000;

const keyOf = (name: string): Write['key'] => ({ type: 'MeshTimeout', mesh: 'default', name });
const putOf = (name: string): Write => ({ op: 'put', key: keyOf(name), labels: {}, spec: {} });

describe('a database that hangs', () => {
  const started = new AsyncDisposableStack();
  let proxy: TcpProxy;
  let store: ResourceStore;

  beforeAll(async () => {
    const config = await cloneDatabase(inject('postgresUrl'));
    proxy = await TcpProxy.start(config.port);
    started.defer(() => proxy.close());
    const port = Number(proxy.address.split(':')[1]);
    const through = { ...config, host: '127.0.0.1', port, maxOpenConnections: 4, connectionTimeout: 2 };
    store = await openStore(through, { clock: systemClock, log: createLogger('silent'), answerMs: ANSWER_MS });
    started.defer(() => store.close());
  });

  afterAll(() => started.disposeAsync());

  const query = { type: 'MeshTimeout' };
  const reads: Record<string, (from: ResourceStore) => Promise<unknown>> = {
    get: (from) => from.get(keyOf('a')),
    getMeta: (from) => from.getMeta(keyOf('a')),
    getMany: (from) => from.getMany([keyOf('a')]),
    list: (from) => from.list(query),
    listPage: (from) => from.listPage(query),
    snapshot: (from) => from.snapshot(),
    listMeta: (from) => from.listMeta({ types: ['MeshTimeout'] }),
    count: (from) => from.count(query),
    digest: (from) => from.digest(['MeshTimeout']),
    countAll: (from) => from.countAll(),
    ping: (from) => from.ping(),
  };
  const writes: Record<string, (from: ResourceStore) => Promise<unknown>> = {
    write: (from) => from.write(putOf('a')),
    'a write that waits for another': async (from) => {
      await from.write(putOf('b')).catch(() => undefined);
      return await from.write(putOf('c'));
    },
    writeBatch: (from) => from.writeBatch([putOf('d')]),
    writeAll: (from) => from.writeAll([putOf('e'), { op: 'delete', key: keyOf('f') }]),
  };

  it('fails every call, a write with an unknown outcome, and serves the same calls when it continues', async () => {
    const soon = answerInTime(store, systemClock, ANSWER_MS + 500);
    // Connections are open, and in the middle of something.
    for (const call of Object.values(reads)) await call(soon);
    proxy.blackHole();
    const failure = async (call: (from: ResourceStore) => Promise<unknown>): Promise<unknown> =>
      await call(soon).then(
        () => 'answered',
        (error: unknown) => error,
      );
    // Writes first: one that found no connection is known not to be stored.
    const [writeFailures, readFailures] = await Promise.all([
      Promise.all(Object.values(writes).map(failure)),
      Promise.all(Object.values(reads).map(failure)),
    ]);
    const unavailable = expect.objectContaining({ code: 'unavailable' }) as unknown;
    expect(Object.fromEntries(Object.keys(reads).map((name, index) => [name, readFailures[index]]))).toEqual(
      Object.fromEntries(Object.keys(reads).map((name) => [name, unavailable])),
    );
    for (const [index, name] of Object.keys(writes).entries())
      expect(writeFailures[index], name).toMatchObject({ code: 'unavailable' });
    expect(writeFailures.map((error) => (error as Error).message).some((text) => text.includes(UNKNOWN))).toBe(true);
    proxy.resume();
    for (const call of [...Object.values(reads), ...Object.values(writes)])
      await expect.poll(() => call(soon).then(() => 'answered', () => 'failed')).toBe('answered'); // oxfmt-ignore
  });

  it('loses the connection of a statement that timed out', async () => {
    const [first, second] = ['before', 'after'].map((name) => putOf(name));
    proxy.blackHole();
    await expect(store.write(first as Write)).rejects.toMatchObject({ code: 'unavailable' });
    proxy.resume();
    // On the connection of the first its answer would come before that of the second.
    await expect.poll(() => store.write(second as Write).then(({ result }) => result, () => 'failed')).toMatch(/created|updated/); // oxfmt-ignore
  });
});
