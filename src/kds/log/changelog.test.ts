import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { decodeKumaResource } from '../../resource/codec.ts';
import { completeSpec } from '../../validation/complete-spec.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { decodeDeltaResponse } from '../../wire/kds-messages.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TinyStore } from '../../../test/support/tiny-store.ts';
import { log, namesOf, put, start } from './changelog.fixture.ts';
import { Changelog, type Source } from './changelog.ts';
import { globalSendRules } from '../protocol/rules.ts';

describe('the changelog', () => {
  it('contains all changes of any replica that were committed before a mark (engine 10)', async () => {
    const store = new TinyStore();
    const changelog = start(store);
    await put(store, 'Mesh', 'a');
    await changelog.caughtUp();
    expect(namesOf(changelog, 'Mesh')).toEqual(['a.']);
    await put(store, 'Mesh', 'b');
    await Promise.all([changelog.caughtUp(), changelog.caughtUp()]);
    expect(namesOf(changelog, 'Mesh')).toEqual(['a.', 'b.']);
  });

  it('sends one mark for all callers of one turn of the event loop', async () => {
    const store = new TinyStore();
    const mark = vi.spyOn(store, 'mark');
    const changelog = start(store);
    await changelog.ready;
    await Promise.all(Array.from({ length: 50 }, () => changelog.caughtUp()));
    expect(mark).toHaveBeenCalledTimes(1);
  });

  it('waits for its first read however long that takes', async () => {
    const store = new TinyStore();
    const clock = new ManualClock();
    const read = Promise.withResolvers<undefined>();
    const list = store.list.bind(store);
    vi.spyOn(store, 'list').mockImplementation(async (query) => {
      await read.promise;
      return await list(query);
    });
    await put(store, 'Mesh', 'a');
    const changelog = new Changelog(store, globalSendRules(), log, clock);
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    void changelog.run(stop.signal);
    let outcome = 'waits';
    const caughtUp = changelog.caughtUp().then(
      () => (outcome = 'caught up'),
      () => (outcome = 'failed'),
    );
    await clock.advance(600_000);
    expect(outcome).toBe('waits');
    read.resolve(undefined);
    await caughtUp;
    expect([outcome, namesOf(changelog, 'Mesh')]).toEqual(['caught up', ['a.']]);
  });

  it('knows the meshes that exist or were deleted here, and asks the store for the others alone', async () => {
    const store = new TinyStore();
    const changelog = start(store);
    for (const name of ['here', 'deleted']) await put(store, 'Mesh', name);
    await store.write({ op: 'delete', key: { type: 'Mesh', mesh: '', name: 'deleted' } });
    await put(store, 'Mesh', 'hidden', { 'kuma.io/kds-sync': 'disabled' });
    await changelog.caughtUp();
    const asked = [vi.spyOn(store, 'getMany'), vi.spyOn(store, 'deletedMeshes')];
    expect(await changelog.unknownMeshes(['here'])).toEqual([]);
    expect(asked.map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
    expect(await changelog.unknownMeshes(['here', 'deleted', 'hidden', 'never'])).toEqual(['never']);
    const keys = ['deleted', 'never'].map((name) => ({ type: 'Mesh', mesh: '', name }));
    expect(asked.map(({ mock }) => mock.calls)).toEqual([[[keys]], [[['deleted', 'never']]]]);
  });

  it('says that a Mesh whose sync is disabled goes, and that it is new when it is synced again', async () => {
    const store = new TinyStore();
    const changelog = start(store);
    await put(store, 'Mesh', 'hidden', { 'kuma.io/kds-sync': 'disabled' });
    await put(store, 'Mesh', 'shop');
    await changelog.caughtUp();
    const changes: string[] = [];
    changelog.onChange(
      ({ name, isRemoval, isNew, visibility: { to } }) => void changes.push(`${name} ${isRemoval} ${isNew} ${to}`),
    );
    for (const sync of ['disabled', 'disabled', 'enabled']) await put(store, 'Mesh', 'shop', { 'kuma.io/kds-sync': sync });
    await put(store, 'Mesh', 'hidden', { 'kuma.io/kds-sync': 'disabled', team: 'a' });
    await store.write({ op: 'delete', key: { type: 'Mesh', mesh: '', name: 'hidden' } });
    await changelog.caughtUp();
    expect(changes).toEqual(['shop true false all', 'shop false true all']);
  });

  it('says which changes are of resources that it did not have', async () => {
    const store = new TinyStore();
    const changelog = start(store);
    await changelog.ready;
    const seen: [version: number | null, isNew: boolean, isRemoval: boolean][] = [];
    changelog.onChange(({ version, isNew, isRemoval }) => seen.push([version, isNew, isRemoval]));
    const write = async (labels: Record<string, string> | null): Promise<void> => {
      if (labels === null) await store.write({ op: 'delete', key: { type: 'Mesh', mesh: '', name: 'a' } });
      else await put(store, 'Mesh', 'a', labels);
      await changelog.caughtUp();
    };
    for (const labels of [{}, { team: 'a' }, null, {}]) await write(labels);
    expect(seen).toEqual([
      [0, true, false],
      [1, false, false],
      [null, false, true],
      [0, true, false],
    ]);
  });

  it('reads no further table when it is stopped during a read', async () => {
    const store = new TinyStore();
    const read = Promise.withResolvers<[]>();
    const list = vi.spyOn(store, 'list').mockImplementation(() => read.promise);
    const changelog = new Changelog(store, globalSendRules(), log);
    const stop = new AbortController();
    const running = changelog.run(stop.signal);
    await vi.waitFor(() => expect(list).toHaveBeenCalledOnce());
    stop.abort();
    read.resolve([]);
    await running;
    expect(list).toHaveBeenCalledOnce();
  });

  it('accepts a new read of all rows in place of a mark that was lost with the connection', async () => {
    const store = new TinyStore();
    const again = Promise.withResolvers<undefined>();
    store.mark = () => Promise.resolve(again.resolve(undefined));
    store.changes = async function* () {
      yield { kind: 'all' };
      await again.promise;
      await put(store, 'Mesh', 'late');
      yield { kind: 'all' };
    };
    const changelog = start(store);
    await changelog.caughtUp();
    expect(namesOf(changelog, 'Mesh')).toEqual(['late.']);
  });

  it('reports that the store does not answer', async () => {
    const store = new TinyStore();
    store.mark = () => Promise.reject(new Error('gone'));
    await expect(start(store).caughtUp()).rejects.toThrow('gone');
  });

  it('reports that the feed of the store is a minute late', async () => {
    const store = new TinyStore();
    store.mark = () => Promise.resolve();
    const clock = new ManualClock();
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const changelog = new Changelog(store, globalSendRules(), log, clock);
    void changelog.run(stop.signal);
    await changelog.ready;
    let fault: unknown = null;
    changelog.caughtUp().catch((error: unknown) => (fault = error));
    await setImmediate();
    await clock.advance(59_999);
    expect(fault).toBeNull();
    await clock.advance(1);
    await vi.waitFor(() => expect(fault).toMatchObject({ code: 'unavailable' }));
  });

  it('removes the rows that are missing when their type is read again, and no others', async () => {
    const store = new TinyStore();
    for (const name of ['a', 'b']) await put(store, 'MeshTimeout', name);
    await put(store, 'MeshRetry', 'a');
    const lost = Promise.withResolvers<void>();
    let isLost = false;
    const source: Source = {
      ...{ getMany: store.getMany.bind(store), deletedMeshes: store.deletedMeshes.bind(store), mark: store.mark.bind(store) },
      list: async (query) => (await store.list(query)).filter(({ name }) => !isLost || name !== 'a'),
      async *changes(signal) {
        yield { kind: 'all' };
        await lost.promise;
        yield { kind: 'type', type: 'MeshTimeout' };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    };
    const changelog = start(source);
    await changelog.ready;
    expect(namesOf(changelog, 'MeshTimeout')).toHaveLength(2);
    isLost = true;
    lost.resolve();
    await vi.waitFor(() => expect(namesOf(changelog, 'MeshTimeout')).toEqual([expect.stringMatching(/^b-/)]));
    expect(namesOf(changelog, 'MeshRetry')).toEqual([expect.stringMatching(/^a-/)]);
  });

  it('sends a recreated Mesh as a removal and an addition (engine 7)', async () => {
    const store = new TinyStore();
    const changelog = start(store);
    await put(store, 'Mesh', 'a');
    await changelog.caughtUp();
    const [slot] = [...(changelog.logOf('Mesh')?.since(0) ?? [])];
    if (slot === undefined) throw new Error('no slot');
    changelog.logOf('Mesh')?.hold(slot);
    const row = store.rows.get(JSON.stringify(['Mesh', '', 'a']));
    if (row !== undefined) store.rows.set(JSON.stringify(['Mesh', '', 'a']), { ...row, creationTime: new Date(1) });
    await store.write({ op: 'put', key: { type: 'Mesh', mesh: '', name: 'b' }, labels: {}, spec: {} });
    await store.write({ op: 'update', key: { type: 'Mesh', mesh: '', name: 'a' }, labels: {}, spec: {} });
    await changelog.caughtUp();
    expect(namesOf(changelog, 'Mesh')).toContain('-a.');
    expect(namesOf(changelog, 'Mesh')).toContain('a.');
  });

  it('does not wake streams for a status that is not synced (engine 6)', async () => {
    const store = new TinyStore();
    const changelog = start(store);
    await store.write({ op: 'create', key: { type: 'MeshExternalService', mesh: 'default', name: 'x' }, labels: {}, spec: {} });
    await changelog.caughtUp();
    const before = changelog.logOf('MeshExternalService')?.position;
    const status = { vip: { ip: '241.0.0.1' } };
    await store.write({
      op: 'put',
      key: { type: 'MeshExternalService', mesh: 'default', name: 'x' },
      labels: {},
      spec: {},
      status,
    });
    await changelog.caughtUp();
    expect(changelog.logOf('MeshExternalService')?.position).toBe(before);
  });

  it('reads a row that waits for a taken name only when that name is free, and publishes it once (engine 5)', async () => {
    const store = new TinyStore();
    const getMany = vi.spyOn(store, 'getMany');
    const error = vi.spyOn(log, 'error');
    const changelog = start(store);
    await changelog.ready;
    const same = { 'kuma.io/display-name': 'same' };
    await put(store, 'MeshTimeout', 'first', same);
    await changelog.caughtUp();
    await put(store, 'MeshTimeout', 'second', same);
    await put(store, 'MeshTimeout', 'third', same);
    await changelog.caughtUp();
    const [held] = namesOf(changelog, 'MeshTimeout');
    expect(namesOf(changelog, 'MeshTimeout')).toEqual([held]);
    getMany.mockClear();
    for (const name of ['a', 'b', 'c']) await put(store, 'MeshRetry', name);
    await put(store, 'MeshTimeout', 'second', { ...same, changed: 'yes' });
    await changelog.caughtUp();
    expect(getMany.mock.calls.flatMap(([keys]) => keys.map(({ name }) => name))).toEqual(['a', 'b', 'c', 'second']);
    expect(error).toHaveBeenCalledTimes(2);

    await put(store, 'MeshTimeout', 'second', { 'kuma.io/display-name': 'other' });
    await store.write({ op: 'delete', key: { type: 'MeshTimeout', mesh: 'default', name: 'first' } });
    await changelog.caughtUp();
    expect(namesOf(changelog, 'MeshTimeout')).toEqual([expect.stringMatching(/^other-/), held]);
    expect(error).toHaveBeenCalledTimes(2);
  });
});

describe('a row that was stored without the defaults of its schema', () => {
  const spec = {
    to: [{ targetRef: { kind: 'Mesh' }, default: { http: { hostSelection: [{ predicate: 'OmitPreviousHosts' }] } } }],
  };
  const key = { type: 'MeshRetry', mesh: 'default', name: 'a' };

  function specIn(changelog: Changelog): unknown {
    const [slot] = [...(changelog.logOf('MeshRetry')?.since(0) ?? [])];
    const encoding = slot?.entry?.in('native');
    if (encoding === undefined || 'withheld' in encoding) throw new Error('no encoding');
    const [resource] = decodeDeltaResponse(encoding.bytes).resources;
    return decodeKumaResource(typeOf('MeshRetry'), resource?.resource ?? new Uint8Array()).spec;
  }

  it('is sent with the defaults, and is not sent again when they are stored', async () => {
    const store = new TinyStore();
    await store.write({ op: 'put', key, labels: {}, spec });
    const changelog = start(store);
    await changelog.caughtUp();
    const complete = completeSpec('MeshRetry', spec);
    expect(complete).not.toEqual(spec);
    expect(specIn(changelog)).toEqual(complete);
    const position = changelog.logOf('MeshRetry')?.position;
    await store.write({ op: 'put', key, labels: {}, spec: complete });
    await changelog.caughtUp();
    expect(changelog.logOf('MeshRetry')?.position).toBe(position);
  });
});

it('a row that cannot be sent is logged, and delays no other row of its type', async () => {
  const error = vi.spyOn(log, 'error');
  const store = new TinyStore();
  for (const [name, data] of [
    ['zone-token-signing-key-1', Buffer.from('no key').toString('base64')],
    ['other', 'YQ=='],
  ] as const)
    await store.write({ op: 'put', key: { type: 'GlobalSecret', mesh: '', name }, labels: {}, spec: { data } });
  const changelog = start(store);
  await changelog.caughtUp();
  const err = 'GlobalSecret zone-token-signing-key-1 holds no PEM "RSA PRIVATE KEY"; it is not sent to zones';
  const row = { type: 'GlobalSecret', name: 'zone-token-signing-key-1', mesh: '' };
  expect(error.mock.calls).toEqual([[{ ...row, err }, 'this resource cannot be sent; correct it']]);
  expect(namesOf(changelog, 'GlobalSecret')).toEqual(['other.']);
  error.mockRestore();
});

describe('a row that is deleted and created again', () => {
  it.each([
    ['MeshTimeout', 'default', 1],
    ['Mesh', '', 2],
  ])('of type %s has the same slot unless it owns others', async (type, mesh, slots) => {
    const store = new TinyStore(() => new Date(now));
    let now = 0;
    const key = { type, mesh, name: 'a' };
    const changelog = start(store);
    await store.write({ op: 'create', key, labels: {}, spec: {} });
    await changelog.caughtUp();
    const seen = new Set([...(changelog.logOf(type)?.since(0) ?? [])]);
    for (const slot of seen) changelog.logOf(type)?.hold(slot);
    now = 5_000;
    await store.write({ op: 'delete', key });
    await changelog.caughtUp();
    await store.write({ op: 'create', key, labels: {}, spec: {} });
    await changelog.caughtUp();
    for (const slot of changelog.logOf(type)?.since(0) ?? []) seen.add(slot);
    expect(seen.size).toBe(slots);
  });
});

it('the changelog follows its source until the signal aborts, and no longer', async () => {
  const changelog = new Changelog(new TinyStore(), globalSendRules(), log);
  const stop = new AbortController();
  let isRunning = true;
  const running = changelog.run(stop.signal).finally(() => (isRunning = false));
  await changelog.ready;
  await setImmediate();
  expect(isRunning).toBe(true);
  stop.abort();
  await running;
  expect(isRunning).toBe(false);
});
