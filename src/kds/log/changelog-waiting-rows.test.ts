// Rows that wait for a wire name that another row has.
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { log, namesOf, put, start } from './changelog.fixture.ts';

describe('a deleted row that waited for a taken name', () => {
  it('is not read when the name becomes free, and is published when it is recreated', async () => {
    const store = new TinyStore();
    const getMany = vi.spyOn(store, 'getMany');
    const error = vi.spyOn(log, 'error').mockClear();
    const changelog = start(store);
    await changelog.ready;
    const same = { 'kuma.io/display-name': 'same' };
    const remove = async (name: string): Promise<void> => {
      await store.write({ op: 'delete', key: { type: 'MeshTimeout', mesh: 'default', name } });
      await changelog.caughtUp();
    };
    for (const name of ['first', 'second']) await put(store, 'MeshTimeout', name, same);
    await changelog.caughtUp();
    await remove('second');
    await put(store, 'MeshTimeout', 'second', same);
    await changelog.caughtUp();
    expect(error).toHaveBeenCalledTimes(2);
    await remove('second');
    getMany.mockClear();
    await remove('first');
    expect(getMany.mock.calls.flatMap(([keys]) => keys.map(({ name }) => name))).toEqual(['first']);
  });
});

describe('a row that waits for a taken name and is missing when its type is read again', () => {
  it('no longer waits, and is reported again when it is recreated', async () => {
    const store = new TinyStore();
    const error = vi.spyOn(log, 'error').mockClear();
    const changes = store.changes.bind(store);
    store.changes = async function* (signal) {
      for await (const change of changes(signal))
        yield change.kind === 'keys' ? { kind: 'type' as const, type: 'MeshTimeout' } : change;
    };
    const changelog = start(store);
    const same = { 'kuma.io/display-name': 'same' };
    for (const name of ['first', 'second']) await put(store, 'MeshTimeout', name, same);
    await changelog.caughtUp();
    await store.write({ op: 'delete', key: { type: 'MeshTimeout', mesh: 'default', name: 'second' } });
    await changelog.caughtUp();
    expect(error).toHaveBeenCalledTimes(1);
    await put(store, 'MeshTimeout', 'second', same);
    await changelog.caughtUp();
    expect(error).toHaveBeenCalledTimes(2);
  });
});

describe('a row that waits for a taken name', () => {
  it.each([
    ['the type', true],
    ['the row', false],
  ])('gets the name when the changelog has read %s without the other row, for any delay of the store', async (_, isWhole) => {
    const store = new TinyStore();
    vi.spyOn(log, 'error').mockClear();
    const getMany = store.getMany.bind(store);
    let isSlow = false;
    store.getMany = async (keys) => {
      for (let turn = 0; isSlow && turn < 20; turn += 1) await setImmediate();
      return await getMany(keys);
    };
    const changes = store.changes.bind(store);
    store.changes = async function* (signal) {
      for await (const change of changes(signal))
        yield isWhole && change.kind === 'keys' ? { kind: 'type' as const, type: 'MeshTimeout' } : change;
    };
    const changelog = start(store);
    const same = { 'kuma.io/display-name': 'same' };
    for (const name of ['first', 'second']) await put(store, 'MeshTimeout', name, { ...same, by: name });
    await changelog.caughtUp();
    isSlow = true;
    await store.write({ op: 'delete', key: { type: 'MeshTimeout', mesh: 'default', name: 'first' } });
    await changelog.caughtUp();
    const names = namesOf(changelog, 'MeshTimeout');
    expect(names.at(-1)).toMatch(/^same-/);
  });
});
