// The loop of a reconciler, with a view that the test reads.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { createLogger } from '../base/log.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import type { WriteOutcome } from '../store/resource-store.ts';
import { reconcile, type Pass, type PlannedWrite, type Reconciler } from './reconcile.ts';

const MINUTE = 60_000;
const keyOf = (name: string): ResourceKey => ({ type: 'Workload', mesh: 'default', name });

let store: TinyStore;
let clock: ManualClock;
let stop: AbortController;
let passes: Pass[];
let events: string[];
let waitMs: number | null;
/** The rows of the view, and those that it wants to write. */
let rows: Map<string, Resource>;
let wanted: Map<string, PlannedWrite>;
let running: Promise<void>;

const reconciler: Reconciler = {
  types: ['Workload'],
  view: {
    put: (row) => void rows.set(row.name, row),
    remove: (key) => void (rows.delete(key.name) && events.push(`removed ${key.name}`)),
    keysOf: () => [...rows.values()],
    accept: (row) => void events.push(`accepted ${row.name} ${String(row.version)}`),
    touch: (key) => void events.push(`touched ${key.name}`),
    touchAll: () => void events.push('touched all'),
  },
  plan: () => {
    const writes = [...wanted.values()];
    wanted.clear();
    return { writes, waitMs };
  },
};

function want(name: string, spec: Resource['spec']): void {
  const before = rows.get(name);
  const row: Resource = {
    ...{ ...keyOf(name), labels: {}, spec, status: {}, version: before?.version ?? 0, owner: null, syncVersion: null },
    ...{ creationTime: new Date(0), modificationTime: new Date(0) },
  };
  wanted.set(name, { op: 'put', row, before });
}

const put = (name: string): Promise<unknown> => store.write({ op: 'put', key: keyOf(name), labels: {}, spec: {} });

async function passed(count: number): Promise<void> {
  while (passes.length < count) await clock.advance(5);
}

beforeEach(async () => {
  store = new TinyStore();
  clock = new ManualClock();
  stop = new AbortController();
  [passes, events, waitMs] = [[], [], null];
  rows = new Map();
  wanted = new Map();
  await put('stored');
  const options = { store, clock, log: createLogger('silent'), onPass: (pass: Pass) => void passes.push(pass) };
  running = reconcile(reconciler, options, stop.signal);
  await passed(1);
});

afterEach(async () => {
  stop.abort();
  await running;
});

it('a reconciler reads all rows first, then those that the feed names', async () => {
  expect([passes[0]?.isFull, [...rows.keys()]]).toEqual([true, ['stored']]);
  const list = vi.spyOn(store, 'list');
  await put('new');
  await store.write({ op: 'delete', key: keyOf('stored') });
  await passed(2);
  expect([[...rows.keys()], passes.at(-1)?.isFull, list.mock.calls]).toEqual([['new'], false, []]);
});

it('a reconciler compares and plans all rows again after a minute in which one changed', async () => {
  events.length = 0;
  await clock.advance(MINUTE - 1_000);
  expect(events).toEqual([]);
  store.rows.clear();
  await clock.advance(1_000);
  expect(events).toEqual(['touched all', 'removed stored']);
});

it('a reconciler lists and plans nothing after a minute in which no row changed', async () => {
  await clock.advance(MINUTE);
  events.length = 0;
  const [list, listMeta] = [vi.spyOn(store, 'list'), vi.spyOn(store, 'listMeta')];
  await clock.advance(10 * MINUTE);
  expect([events, list.mock.calls, listMeta.mock.calls]).toEqual([[], [], []]);
  await put('new');
  await clock.advance(MINUTE);
  expect(events.filter((event) => event === 'touched all')).toHaveLength(1);
});

it('a reconciler reads every minute those rows alone that changed without a hint', async () => {
  await put('again');
  await passed(2);
  const [list, getMany] = [vi.spyOn(store, 'list'), vi.spyOn(store, 'getMany')];
  const change = (name: string, more: Partial<Resource>): void => {
    const row = rows.get(name) as Resource;
    store.rows.set([...store.rows].find(([, held]) => held.name === name)?.[0] ?? '', { ...row, ...more });
  };
  change('stored', { version: 1, spec: { changed: true } });
  // The row was deleted and made again: its version is the same.
  change('again', { modificationTime: new Date(1), spec: { changed: true } });
  await clock.advance(MINUTE);
  expect([...rows.values()].map(({ spec }) => spec)).toEqual([{ changed: true }, { changed: true }]);
  const read = (): string[] => getMany.mock.calls.flatMap(([keys]) => keys.map(({ name }) => name));
  expect([list.mock.calls, read()]).toEqual([[], ['stored', 'again']]);
  await clock.advance(MINUTE);
  expect([list.mock.calls, read()]).toEqual([[], ['stored', 'again']]);
});

it('a reconciler plans after all rows are read that changed without a hint, five hundred at a time', async () => {
  const [stored] = [...store.rows.values()];
  if (stored === undefined) throw new Error('the store has no row');
  for (let n = 0; n < 501; n += 1) store.rows.set(`hidden ${String(n)}`, { ...stored, name: `hidden-${String(n)}` });
  const { promise: held, resolve } = Promise.withResolvers<void>();
  const sizes: number[] = [];
  vi.spyOn(store, 'getMany').mockImplementation(async (keys) => {
    sizes.push(keys.length);
    if (sizes.length === 3) await held;
    return keys.map((key) => ({ ...stored, ...key }));
  });
  const before = passes.length;
  await clock.advance(MINUTE);
  // The first call is for the hints.
  expect([sizes, passes.length]).toEqual([[0, 500, 1], before]);
  resolve();
  await passed(before + 1);
  expect(rows.size).toBe(502);
});

it.each([
  ['back by a month', -30],
  ['forward by a month', 30],
])('a reconciler compares all rows every minute when the date is set %s', async (_, days) => {
  clock.moveDate(days * 24 * 60 * MINUTE);
  const before = passes.length;
  for (let minute = 1; minute <= 3; minute += 1) {
    await put(String(minute));
    await clock.advance(MINUTE);
  }
  expect(passes.slice(before).filter(({ isFull }) => isFull)).toHaveLength(3);
});

it('a reconciler plans again at the time that a plan names', async () => {
  const before = passes.length;
  waitMs = 2_000;
  await put('new');
  await passed(before + 1);
  waitMs = null;
  await clock.advance(1_900);
  expect(passes).toHaveLength(before + 1);
  await clock.advance(200);
  expect(passes).toHaveLength(before + 2);
});

it('a reconciler creates, updates and deletes the version that it has read', async () => {
  want('made', { a: 1 });
  want('stored', { a: 2 });
  await put('trigger');
  await passed(2);
  expect(events).toEqual(['accepted made 0', 'accepted stored 1']);
  expect(passes.at(-1)?.writes).toBe(2);
  const before = (await store.get(keyOf('made'))) as Resource;
  wanted.set('made', { op: 'delete', before });
  await put('trigger');
  await passed(passes.length + 1);
  expect(events).toContain('removed made');
  expect(await store.get(keyOf('made'))).toBeUndefined();
});

it('a reconciler reads a row again that another writer has changed, and leaves one that the store rejects', async () => {
  const outcomes: Record<string, WriteOutcome> = {
    made: { result: 'rejected', message: 'no' },
    stored: { result: 'conflict' },
  };
  store.beforeWrite = ({ key }) => outcomes[key.name];
  want('made', { a: 1 });
  want('stored', { a: 2 });
  const getMany = vi.spyOn(store, 'getMany');
  store.rows.set('trigger', { ...(rows.get('stored') as Resource), name: 'trigger' });
  await put('trigger');
  await passed(3);
  expect(events).toEqual(['touched stored']);
  expect(getMany.mock.calls.flatMap(([keys]) => keys.map(({ name }) => name))).toEqual(['trigger', 'stored']);
});
