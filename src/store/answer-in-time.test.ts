import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { answerInTime } from './answer-in-time.ts';
import type { ResourceStore } from './resource-store.ts';

const key = { type: 'Mesh', mesh: '', name: 'a' };
const put = { op: 'put', key, labels: {}, spec: {} } as const;

const READS: Record<string, (store: ResourceStore) => Promise<unknown>> = {
  get: (store) => store.get(key),
  getMeta: (store) => store.getMeta(key),
  getMany: (store) => store.getMany([key]),
  list: (store) => store.list({ type: 'Mesh' }),
  listPage: (store) => store.listPage({ type: 'Mesh' }),
  snapshot: (store) => store.snapshot(),
  listMeta: (store) => store.listMeta({ types: ['Mesh'] }),
  count: (store) => store.count({ type: 'Mesh' }),
  digest: (store) => store.digest([]),
  countAll: (store) => store.countAll(),
  deletedMeshes: (store) => store.deletedMeshes(['a']),
  epochs: (store) => store.epochs(['a']),
  versions: (store) => store.versions({ key, limit: 1 }),
  versionNumbers: (store) => store.versionNumbers(key),
  settledVersion: (store) => store.settledVersion(),
  versionsAfter: (store) => store.versionsAfter({ after: 0, upTo: 1, limit: 1, types: [] }),
  countVersions: (store) => store.countVersions(),
  mark: (store) => store.mark('a'),
  ping: (store) => store.ping(),
};
const WRITES: typeof READS = {
  write: (store) => store.write(put),
  writeBatch: (store) => store.writeBatch([put]),
  writeAll: (store) => store.writeAll([put]),
  acquireFencingToken: (store) => store.acquireFencingToken('a'),
  trimVersions: (store) => store.trimVersions(0, 1),
  pruneVersions: (store) => store.pruneVersions({ versions: 1, replacedBefore: new Date(0) }, { counted: 0, aged: 0 }),
};

/** A store of which no method settles. */
const silent = new Proxy({} as ResourceStore, { get: () => () => new Promise(() => undefined) });

async function messageAfter(ms: number, call: (store: ResourceStore) => Promise<unknown>): Promise<string | null> {
  const clock = new ManualClock();
  let message: string | null = null;
  void call(answerInTime(silent, clock)).catch((error: unknown) => (message = (error as Error).message));
  await clock.advance(ms);
  await Promise.resolve();
  return message;
}

describe('a store that does not answer', () => {
  it.each(Object.entries({ ...READS, ...WRITES }))('fails a call of %s after nine seconds', async (name, call) => {
    expect(await messageAfter(8_999, call)).toBeNull();
    const message = await messageAfter(9_000, call);
    expect(message).toMatch(/^the database does not answer within 9 s/);
    expect(message?.includes(';')).toBe(name in WRITES);
  });
});

it('returns the answers of the store', async () => {
  const store = new TinyStore();
  const same = answerInTime(store, new ManualClock());
  await same.write(put);
  for (const call of Object.values(READS)) expect(await call(same)).toEqual(await call(store));
  const outcomes = [await same.writeBatch([put]), await same.writeAll([put])];
  expect(outcomes.flat().map(({ result }) => result)).toEqual(['updated', 'updated']);
  expect(await same.acquireFencingToken('a')).toBe(1);
  const stop = new AbortController();
  let isLed = false;
  await same.lead('a', async () => void (isLed = true), stop.signal);
  expect(isLed).toBe(true);
  for await (const change of same.changes(stop.signal)) {
    expect(change).toEqual({ kind: 'all' });
    break;
  }
  await same.close();
});
