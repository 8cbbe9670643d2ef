// How a receiver handles a response, for any state of its rows and any content.
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { Receiver } from '../../src/kds/receiver/receiver.ts';
import { readNodeMetadata } from '../../src/kds/protocol/node.ts';
import { globalReceiveRules } from '../../src/kds/protocol/rules.ts';
import type { SyncEvent } from '../../src/kds/protocol/sync-events.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import type { WriteOutcome } from '../../src/store/resource-store.ts';
import { decodeDeltaRequest, type DeltaRequest, type DeltaResponse } from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';

const owner = { type: 'Zone', mesh: '', name: 'east' };
const labels = { 'kuma.io/zone': 'east', 'kuma.io/origin': 'zone' };
const keyOf = (name: string): Pick<Resource, 'type' | 'mesh' | 'name'> => ({ type: 'MeshTimeout', mesh: 'default', name });

/** A global that receives the MeshTimeouts of the zone east. */
async function receive(
  store: TinyStore,
  resume: boolean,
  { types = ['MeshTimeout'], maxMessageBytes = 100_000 } = {},
): Promise<{ receiver: Receiver; sent: DeltaRequest[]; events: SyncEvent[] }> {
  const [sent, events]: [DeltaRequest[], SyncEvent[]] = [[], []];
  const rules = globalReceiveRules('east', { hashedNames: true });
  const receiver = new Receiver({
    ...{ zone: 'east', peer: 'east', streamId: 's', resume, maxMessageBytes, log: createLogger('silent') },
    ...{ rules: { ...rules, types: types.map((type) => typeOf(type)) }, store },
    node: { version: '0', instanceId: 'i', config: '' },
    validate: validateResource,
    send: (message) => void sent.push(decodeDeltaRequest(message)),
    observe: (event) => void events.push(event),
    clock: systemClock,
  });
  await receiver.start();
  return { receiver, sent, events };
}

function response(resources: Record<string, JsonObject>, removed: readonly string[] = []): DeltaResponse {
  const encoded = Object.entries(resources).map(([name, spec]) => {
    const given = { 'kuma.io/display-name': name.replace(/-.{16}$/, '') };
    const resource = encodeKumaResource(typeOf('MeshTimeout'), { ...keyOf(name), labels: given, spec, status: undefined });
    return { name: `${name}.default`, version: '', resource, anyTypeUrl: '' };
  });
  return {
    ...{ typeUrl: 'MeshTimeout', nonce: '1', resources: encoded, controlPlane: 'east', isPartial: false },
    removedResources: removed.map((name) => `${name}.default`),
  };
}

/** The name that a zone gives what is called so there. */
const hashed = (name: string): string => hashName({ mesh: 'default', name, zone: 'east' });
const namesIn = (store: TinyStore): string[] =>
  [...store.rows.values()].flatMap(({ type, name }) => (type === 'Zone' ? [] : [name])).sort();

describe('a row of the zone that lost its labels by an edit', () => {
  it('is sent in the versions of a resume, and is removed when the zone does not have it (engine 12)', async () => {
    const store = new TinyStore().withZones('east', 'west');
    await store.write({ op: 'create', key: keyOf('lost'), labels: {}, spec: {}, owner, syncVersion: 'v' });
    await store.write({ op: 'create', key: keyOf('of-another'), labels: {}, spec: {}, owner: { ...owner, name: 'west' } });
    const resumed = await receive(store, true);
    expect(resumed.sent.map(({ initialResourceVersions }) => [...initialResourceVersions.keys()])).toEqual([['lost.default']]);
    const full = await receive(store, false);
    await full.receiver.handle(response({ [hashed('other')]: {} }));
    expect(namesIn(store)).toEqual(['of-another', hashed('other')]);
  });
});

describe('a refused resource', () => {
  it('keeps the stored version although the response removes it too (kds-wire 6.2.1)', async () => {
    const store = new TinyStore().withZones('east', 'west');
    for (const name of ['bad', 'gone']) await store.write({ op: 'create', key: keyOf(name), labels, spec: {}, owner });
    const { receiver, sent } = await receive(store, true);
    await receiver.handle(response({ bad: { targetRef: 5 } }, ['bad', 'gone']));
    expect(namesIn(store)).toEqual(['bad']);
    expect(sent.at(-1)?.errorDetail?.message).toContain('name="bad"');
  });

  it('of a full state keeps the stored version, because a named resource is not pruned', async () => {
    const store = new TinyStore().withZones('east', 'west');
    for (const name of ['bad', 'gone']) await store.write({ op: 'create', key: keyOf(name), labels, spec: {}, owner });
    const { receiver, sent } = await receive(store, false);
    await receiver.handle(response({ bad: { targetRef: 5 } }));
    expect(namesIn(store)).toEqual(['bad']);
    expect(sent.at(-1)?.errorDetail?.message).toContain('name="bad"');
  });

  it('counts as refused until the peer sends a valid form or removes it', async () => {
    const { receiver, events } = await receive(new TinyStore().withZones('east', 'west'), true);
    const refusedNow = (): readonly string[] => {
      const event = events.findLast(({ kind }) => kind === 'received');
      return event?.kind === 'received' ? event.refused.first : [];
    };
    await receiver.handle(response({ [hashed('a')]: { targetRef: 5 }, [hashed('b')]: { targetRef: 5 } }));
    expect(refusedNow()).toEqual([`${hashed('a')}.default`, `${hashed('b')}.default`]);
    await receiver.handle(response({ [hashed('a')]: {} }));
    expect(refusedNow()).toEqual([`${hashed('b')}.default`]);
    await receiver.handle(response({}, [hashed('b')]));
    expect(refusedNow()).toEqual([]);
  });
});

describe('more than 1,000 refused resources of a type', () => {
  it('all count, and the others stay refused when the first 1,000 are corrected', async () => {
    const { receiver, events } = await receive(new TinyStore().withZones('east', 'west'), true);
    const countNow = (): number => {
      const event = events.findLast(({ kind }) => kind === 'received');
      return event?.kind === 'received' ? event.refused.count : 0;
    };
    const names = Array.from({ length: 1_500 }, (_, n) => hashed(`n${String(n)}`));
    await receiver.handle(response(Object.fromEntries(names.map((name) => [name, { targetRef: 5 }]))));
    expect(countNow()).toBe(1_500);
    await receiver.handle(response(Object.fromEntries(names.slice(0, 1_000).map((name) => [name, {}]))));
    expect(countNow()).toBe(500);
  });
});

describe('a row that another writer changes meanwhile', () => {
  const conflicts = (store: TinyStore, times: number, after?: () => WriteOutcome | undefined): void => {
    let left = times;
    store.beforeWrite = () => {
      if (left === 0) return after?.();
      left -= 1;
      return { result: 'conflict' };
    };
  };

  it.each([true, false])('is read and written again, up to four times in all (removed: %s)', async (isRemoved) => {
    const store = new TinyStore().withZones('east', 'west');
    await store.write({ op: 'create', key: keyOf('busy'), labels, spec: {}, owner, syncVersion: 'v' });
    const { receiver, sent } = await receive(store, true);
    const change = isRemoved ? response({}, ['busy']) : response({ busy: { targetRef: { kind: 'Mesh' } } });
    conflicts(store, 4);
    await receiver.handle(change);
    expect(sent.at(-1)?.errorDetail?.message).toContain('another writer changes this row again and again');
    conflicts(store, 3);
    await receiver.handle(change);
    expect(sent.at(-1)?.errorDetail).toBeNull();
    expect((await store.list({ type: 'MeshTimeout' })).map(({ spec }) => spec)).toEqual(
      isRemoved ? [] : [{ targetRef: { kind: 'Mesh' } }],
    );
  });

  it('counts as removed when the other writer removes it first, at the last attempt too', async () => {
    const store = new TinyStore().withZones('east', 'west');
    await store.write({ op: 'create', key: keyOf('busy'), labels, spec: {}, owner });
    const { receiver, sent } = await receive(store, true);
    conflicts(store, 3, () => ({ result: 'missing' }));
    await receiver.handle(response({}, ['busy']));
    expect(sent.at(-1)?.errorDetail).toBeNull();
  });
});

describe('a response', () => {
  const answersTo = (sent: readonly DeltaRequest[]): string[] =>
    sent.map(({ responseNonce }) => responseNonce).filter((nonce) => nonce !== '');

  it('is acknowledged after its commit, not before', async () => {
    const store = new TinyStore().withZones('east', 'west');
    const commit = Promise.withResolvers<undefined>();
    store.beforeWrite = () => commit.promise;
    const { receiver, sent } = await receive(store, true);
    const handled = receiver.handle(response({ [hashed('a')]: {} }));
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
    expect(answersTo(sent)).toEqual([]);
    commit.resolve(undefined);
    await handled;
    expect(answersTo(sent)).toEqual(['1']);
    expect(namesIn(store)).toEqual([hashed('a')]);
  });

  it.each([true, false])('is not answered when the store fails (resumed: %s)', async (resume) => {
    const store = new TinyStore().withZones('east', 'west');
    await store.write({ op: 'create', key: keyOf('gone'), labels, spec: {}, owner });
    store.beforeWrite = () => Promise.reject(new Error('disk full'));
    const { receiver, sent } = await receive(store, resume);
    await expect(receiver.handle(response({ a: {} }, ['gone']))).rejects.toThrow('disk full');
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
    expect(answersTo(sent)).toEqual([]);
    expect(namesIn(store)).toEqual(['gone']);
  });
});

describe('versions that would take more than half of a message (D29)', () => {
  it('are not sent: that type is requested in full and pruned; other types resume', async () => {
    const store = new TinyStore().withZones('east', 'west');
    const long = Array.from({ length: 20 }, (_, n) => `${'n'.repeat(20)}-${String(n)}`);
    for (const name of long) await store.write({ op: 'create', key: keyOf(name), labels, spec: {}, owner, syncVersion: 'v' });
    const retry = { type: 'MeshRetry', mesh: 'default', name: 'r' };
    await store.write({ op: 'create', key: retry, labels, spec: {}, owner, syncVersion: 'v' });
    const { receiver, sent } = await receive(store, true, { types: ['MeshTimeout', 'MeshRetry'], maxMessageBytes: 1_000 });
    const requests = sent.map(({ typeUrl, node, initialResourceVersions }) => ({
      type: typeUrl,
      resumes: readNodeMetadata(node.metadata ?? new Uint8Array()).resumes,
      names: [...initialResourceVersions.keys()],
    }));
    expect(requests).toEqual([
      { type: 'MeshTimeout', resumes: false, names: [] },
      { type: 'MeshRetry', resumes: true, names: ['r.default'] },
    ]);
    const [kept = ''] = long;
    await receiver.handle(response({ [kept]: {} }));
    await receiver.handle({ ...response({}), typeUrl: 'MeshRetry' });
    expect(namesIn(store)).toEqual([kept, 'r']);
  });

  it('are sent up to that limit', async () => {
    const store = new TinyStore().withZones('east', 'west');
    for (const name of ['a', 'b'])
      await store.write({ op: 'create', key: keyOf(name), labels, spec: {}, owner, syncVersion: 'v' });
    const { receiver, sent } = await receive(store, true, { maxMessageBytes: 1_000 });
    expect(sent.map(({ initialResourceVersions }) => [...initialResourceVersions.keys()])).toEqual([['a.default', 'b.default']]);
    await receiver.handle(response({ a: { targetRef: { kind: 'Mesh' } } }));
    expect(namesIn(store)).toEqual(['a', 'b']);
  });
});
