import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '../base/log.ts';
import { decodeKumaResource } from '../resource/codec.ts';
import { completeSpec } from '../resource/schema/complete-spec.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { ResourceKey } from '../resource/types.ts';
import { decodeDeltaResponse } from '../wire/kds-messages.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TinyStore } from '../../test/support/tiny-store.ts';
import { Changelog, type Source } from './changelog.ts';
import { globalSendRules } from './rules.ts';
import type { ZoneChange } from './zone-access.ts';
import { ANY_ZONE, type ZoneProfile } from '../resource/zone-profile.ts';

const log = createLogger('silent');
let stop = new AbortController();

function start(source: Source): Changelog {
  stop = new AbortController();
  const changelog = new Changelog(source, globalSendRules(), log);
  void changelog.run(stop.signal);
  return changelog;
}

async function put(store: TinyStore, type: string, name: string, labels: Record<string, string> = {}): Promise<void> {
  const key = { type, mesh: type === 'Mesh' ? '' : 'default', name };
  await store.write({ op: 'put', key, labels, spec: {} });
}

const namesOf = (changelog: Changelog, type: string): string[] =>
  [...(changelog.logOf(type)?.since(0) ?? [])].map(({ wireName, entry }) => (entry === null ? `-${wireName}` : wireName));

afterEach(() => stop.abort());

/** The zone is disabled now. */
function disabled(zone: string): ZoneChange {
  return { zone, before: ANY_ZONE, after: { ...ANY_ZONE, isEnabled: false } };
}

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

  it('reads no further table when it is stopped during a read', async () => {
    const store = new TinyStore();
    const read = Promise.withResolvers<[]>();
    const list = vi.spyOn(store, 'list').mockImplementation(() => read.promise);
    const changelog = new Changelog(store, globalSendRules(), log);
    stop = new AbortController();
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
    stop = new AbortController();
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

describe('a row whose Zone changes while its labels stay', () => {
  const key = { type: 'MeshService', mesh: 'default', name: 'web' };

  it('belongs to the new Zone only, so that disabling the old Zone does not change it', async () => {
    const store = new TinyStore();
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' };
    const write = async (zone: string): Promise<void> => {
      await store.write({ op: 'delete', key });
      await store.write({ op: 'create', key, labels, spec: {}, owner: { type: 'Zone', mesh: '', name: zone } });
    };
    for (const name of ['east', 'west'])
      await store.write({ op: 'create', key: { type: 'Zone', mesh: '', name }, labels: {}, spec: {} });
    const changelog = start(store);
    await write('east');
    await changelog.caughtUp();
    await write('west');
    await changelog.caughtUp();
    const log = changelog.logOf('MeshService');
    expect([...(log?.since(0) ?? [])].map(({ entry }) => entry?.visibility)).toEqual([
      { to: 'others', zone: 'west', mesh: 'default' },
    ]);
    const before = log?.position ?? 0;
    changelog.touchZone(disabled('east'));
    expect(log?.position).toBe(before);
    changelog.touchZone(disabled('west'));
    expect(log?.position).toBe(before + 1);
    await store.write({ op: 'delete', key });
    await changelog.caughtUp();
    for (const zone of ['east', 'west']) changelog.touchZone(disabled(zone));
    expect(namesOf(changelog, 'MeshService')).toEqual([]);
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

describe('the rows of a zone', () => {
  it('are touched with their zone, also after one of them has gone', async () => {
    const store = new TinyStore().withZones('east');
    const keyOf = (name: string): ResourceKey => ({ type: 'MeshService', mesh: 'default', name });
    const owner = { type: 'Zone', mesh: '', name: 'east' };
    const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' };
    const changelog = start(store);
    const positionAfter = (change: () => void): number => {
      const before = changelog.logOf('MeshService')?.position ?? 0;
      change();
      return (changelog.logOf('MeshService')?.position ?? 0) - before;
    };
    for (const name of ['a', 'b', 'c']) await store.write({ op: 'create', key: keyOf(name), labels, spec: {}, owner });
    await changelog.caughtUp();
    const notified: string[] = [];
    changelog.onAppend((type) => void notified.push(type));
    expect(positionAfter(() => changelog.touchZone(disabled('east')))).toBe(3);
    expect(notified).toEqual(['MeshService']);
    for (const left of [2, 1, 0]) {
      await store.write({ op: 'delete', key: keyOf(['c', 'b', 'a'][left] ?? '') });
      await changelog.caughtUp();
      expect(positionAfter(() => changelog.touchZone(disabled('east')))).toBe(left);
    }
    expect(positionAfter(() => changelog.touchZone(disabled('west')))).toBe(0);
  });
});

it('a change of the membership of a zone touches what comes from it in the meshes that it joins or leaves', async () => {
  const store = new TinyStore().withZones('east');
  const owner = { type: 'Zone', mesh: '', name: 'east' };
  const labels = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' };
  for (const mesh of ['shop', 'shop', 'pay'].entries())
    await store.write({
      ...{ op: 'create', labels, spec: {}, owner },
      key: { type: 'MeshService', mesh: mesh[1], name: `s${String(mesh[0])}` },
    });
  const changelog = start(store);
  await changelog.caughtUp();
  const of = (...meshes: string[]): ZoneProfile => ({ ...ANY_ZONE, meshes: meshes.length === 0 ? null : new Set(meshes) });
  const position = (): number => changelog.logOf('MeshService')?.position ?? 0;
  const moved = (before: ZoneProfile, after: ZoneProfile): number => {
    const from = position();
    changelog.touchZone({ zone: 'east', before, after });
    return position() - from;
  };
  expect(moved(of(), of('pay'))).toBe(2);
  expect(moved(of('pay'), of('pay', 'x'))).toBe(0);
  expect(moved(of('pay'), of('shop'))).toBe(3);
  expect(moved({ ...of('pay'), isEnabled: false }, of('pay'))).toBe(1);
  expect([...changelog.notForwarded('east', of('pay'))]).toEqual([['shop', 2]]);
  expect([...changelog.notForwarded('east', of())]).toEqual([]);
  expect([...changelog.notForwarded('west', of('pay'))]).toEqual([]);
});

it('the changelog follows its source until the signal aborts, and no longer', async () => {
  const changelog = new Changelog(new TinyStore(), globalSendRules(), log);
  stop = new AbortController();
  let isRunning = true;
  const running = changelog.run(stop.signal).finally(() => (isRunning = false));
  await changelog.ready;
  await setImmediate();
  expect(isRunning).toBe(true);
  stop.abort();
  await running;
  expect(isRunning).toBe(false);
});
