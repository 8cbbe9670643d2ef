// The reads of a follower for each kind of change, on a store that counts them.
import { setImmediate } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { following } from '../../test/support/following.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import { makeRow } from '../../test/support/make-row.ts';
import { followRows } from './follow-rows.ts';
import type { StoreChange } from './resource-store.ts';

const rows = [makeRow('Zone', 'east'), makeRow('Zone', 'west')];
const key = (type: string, name: string): ResourceKey => ({ type, mesh: '', name });

async function readsAfter(...changes: StoreChange[]): Promise<unknown[]> {
  const list = vi.fn(async () => rows);
  const getMany = vi.fn(async (keys: readonly ResourceKey[]) =>
    rows.filter((row) => keys.some(({ type, name }) => type === row.type && name === row.name)),
  );
  const taken: unknown[] = [];
  const stop = new AbortController();
  const take = (read: readonly Resource[], keys: readonly ResourceKey[] | null): void =>
    void taken.push([read.map(({ name }) => name), keys?.map(({ name }) => name) ?? null]);
  const isWanted = ({ name }: ResourceKey): boolean => name !== 'west';
  const store = {
    list,
    getMany,
    mark: () => Promise.resolve(),
    async *changes(): AsyncGenerator<StoreChange> {
      for (const change of changes) {
        yield change;
        await setImmediate();
      }
      stop.abort();
    },
  };
  await followRows(store, { type: 'Zone', isWanted, take }, following, stop.signal);
  expect(list.mock.calls.length + getMany.mock.calls.length).toBe(taken.length);
  return taken;
}

it('a follower of rows reads all wanted rows of its type when all may have changed', async () => {
  expect(await readsAfter({ kind: 'all' }, { kind: 'type', type: 'Zone' })).toEqual([
    [['east'], null],
    [['east'], null],
  ]);
});

it('a follower of rows reads the named rows, and reports missing ones', async () => {
  const keys = [key('Zone', 'east'), key('Zone', 'gone'), key('Zone', 'west'), key('Mesh', 'east')];
  expect(await readsAfter({ kind: 'keys', keys })).toEqual([[['east'], ['east', 'gone']]]);
});

it('a follower of rows reads nothing for other types, other rows and marks', async () => {
  const changes: StoreChange[] = [
    { kind: 'type', type: 'Mesh' },
    { kind: 'keys', keys: [key('Zone', 'west'), key('Mesh', 'east')] },
    { kind: 'mark', id: 'a' },
  ];
  expect(await readsAfter(...changes)).toEqual([]);
});

it('the follower of rows runs until the signal aborts, and no longer', async () => {
  const stop = new AbortController();
  const store = {
    ...{ list: async () => rows, getMany: async () => [], mark: () => Promise.resolve() },
    async *changes(signal: AbortSignal): AsyncGenerator<StoreChange> {
      yield { kind: 'all' };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  };
  const reads = Promise.withResolvers<void>();
  let isRunning = true;
  const take = (): void => reads.resolve();
  const running = followRows(store, { type: 'Zone', take }, following, stop.signal).finally(() => (isRunning = false));
  await reads.promise;
  await setImmediate();
  expect(isRunning).toBe(true);
  stop.abort();
  await running;
});
