// The contract of every store: run on PostgreSQL, on PGlite, and on the fake of the unit tests.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { mayReplace } from '../../src/resource/ownership.ts';
import type { Labels, ResourceKey } from '../../src/resource/types.ts';
import { FenceWatch } from '../../src/store/fence-watch.ts';
import type { ResourceStore, StoreChange, Write, WriteOutcome } from '../../src/store/resource-store.ts';
import { following } from '../support/following.ts';
import { fc } from '../support/property.ts';
import { creationContract } from './creation-contract.ts';
import { historyContract } from './history-contract.ts';

export const mesh: ResourceKey = { type: 'Mesh', mesh: '', name: 'default' };

export function timeout(name: string): ResourceKey {
  return { type: 'MeshTimeout', mesh: 'default', name };
}

export function create(key: ResourceKey, more: Partial<Extract<Write, { op: 'create' | 'put' | 'update' }>> = {}): Write {
  return { op: 'create', key, labels: {}, spec: {}, ...more };
}

/** @param empty a store without rows, asked for before each test */
export function storeContract(empty: () => ResourceStore): void {
  let store: ResourceStore;
  beforeEach(() => void (store = empty()));

  historyContract(() => store);
  creationContract(() => store);

  describe('all or nothing', () => {
    it('stores all writes, or none when one fails', async () => {
      await store.write(create(timeout('there')));
      const refused = await store.writeAll([create(timeout('a')), create(timeout('there')), create(mesh)]);
      expect(refused.map(({ result }) => result)).toEqual(['created', 'exists', 'created']);
      expect(await store.countAll()).toEqual([{ type: 'MeshTimeout', mesh: 'default', total: 1 }]);
      const done = await store.writeAll([
        create(timeout('a'), { owner: mesh }),
        create(mesh),
        { op: 'delete', key: timeout('there') },
      ]);
      expect(done.map(({ result }) => result)).toEqual(['created', 'created', 'deleted']);
    });
  });

  describe('listPage', () => {
    it('reads the rows of a page and the total number of rows', async () => {
      await store.writeBatch(['c', 'a', 'b'].map((name) => create(timeout(name))));
      await store.write(create({ ...timeout('a'), mesh: 'other' }));
      const query = { type: 'MeshTimeout', mesh: 'default' };
      const pageOf = async (limit: number, offset: number): Promise<[string[], number]> => {
        const { rows, total } = await store.listPage({ ...query, limit, offset });
        return [rows.map(({ name }) => name), total];
      };
      expect(await pageOf(2, 0)).toEqual([['a', 'b'], 3]);
      expect(await pageOf(2, 2)).toEqual([['c'], 3]);
      expect(await pageOf(2, 4)).toEqual([[], 3]);
      expect((await store.listPage(query)).rows).toEqual(await store.list(query));
    });
  });

  describe('single writes', () => {
    it('store the given fields, with version 0 and UTC times', async () => {
      const before = Date.now();
      const outcome = await store.write(create(timeout('a'), { labels: { team: 'ü' }, spec: { x: [1, null, 'é'] } }));
      const row = await store.get(timeout('a'));
      expect(outcome).toEqual({ result: 'created', version: 0, creationTime: row?.creationTime });
      expect(row).toMatchObject({
        ...timeout('a'),
        labels: { team: 'ü' },
        spec: { x: [1, null, 'é'] },
        status: {},
        version: 0,
        owner: null,
        syncVersion: null,
      });
      expect(Math.abs((row?.creationTime.getTime() ?? 0) - before)).toBeLessThan(60_000);
    });

    it('report the conflicting row', async () => {
      await store.write(create(timeout('a')));
      expect(await store.write(create(timeout('a')))).toEqual({ result: 'exists' });
      expect(await store.write({ ...create(timeout('b')), op: 'update' } as Write)).toEqual({ result: 'missing' });
      expect(await store.write({ op: 'update', key: timeout('a'), labels: {}, spec: { n: 1 }, expectVersion: 0 })).toMatchObject({
        result: 'updated',
        version: 1,
      });
      expect(await store.write({ op: 'update', key: timeout('a'), labels: {}, spec: { n: 2 }, expectVersion: 0 })).toEqual({
        result: 'conflict',
      });
      expect(await store.write({ op: 'delete', key: timeout('a'), expectVersion: 0 })).toEqual({ result: 'conflict' });
      expect(await store.write({ op: 'delete', key: timeout('a'), expectVersion: 1 })).toEqual({ result: 'deleted', version: 1 });
      expect(await store.write({ op: 'delete', key: timeout('a') })).toEqual({ result: 'missing' });
    });

    it('keep the stored status unless they bring one', async () => {
      await store.write(create(timeout('a'), { status: { ready: true } }));
      await store.write({ op: 'update', key: timeout('a'), labels: {}, spec: { n: 1 } });
      expect((await store.get(timeout('a')))?.status).toEqual({ ready: true });
    });

    it('of a status set its members, and leave all else', async () => {
      await store.write(create(mesh));
      const made = { labels: { a: '1' }, spec: { n: 1 }, syncVersion: 'v', owner: mesh };
      await store.writeBatch([create(timeout('a'), { ...made, status: { ready: true, seen: 1 } }), create(timeout('b'))]);
      const status = { seen: 2, more: { x: [] } };
      const write = (name: string, expectVersion?: number): Write => ({
        op: 'status',
        key: timeout(name),
        status,
        expectVersion,
      });
      expect(await store.write(write('a', 0))).toMatchObject({ result: 'updated', version: 1 });
      expect(await store.get(timeout('a'))).toMatchObject({ ...made, status: { ready: true, ...status } });
      expect(await store.writeBatch([write('a', 0), write('none'), write('b')])).toMatchObject([
        { result: 'conflict' },
        { result: 'missing' },
        { result: 'updated', version: 1 },
      ]);
      const expectCreation = new Date(1);
      expect(await store.write({ op: 'status', key: timeout('b'), status, expectCreation })).toEqual({ result: 'conflict' });
      expect(await store.write({ op: 'status', key: timeout('b'), status: { bad: '\0' } })).toMatchObject({ result: 'rejected' });
      expect((await store.get(timeout('b')))?.status).toEqual(status);
    });

    it('are combined without a loss, and those of one key in order', async () => {
      const writes = Array.from({ length: 1000 }, (_, i) =>
        store.write({ op: 'put', key: timeout(`k${String(i % 300)}`), labels: {}, spec: { i } }),
      );
      await Promise.all(writes);
      const rows = await store.list({ type: 'MeshTimeout' });
      expect(rows).toHaveLength(300);
      expect(rows.find(({ name }) => name === 'k5')?.spec).toEqual({ i: 905 });
      expect(rows.find(({ name }) => name === 'k5')?.version).toBe(3);
    });
  });

  describe('puts', () => {
    const put = (labels: Labels, more: object = {}): Write => ({
      ...{ op: 'put', key: timeout('a'), labels, spec: { n: 1 } },
      ...more,
    });

    it('create a row with version 0, and replace all fields but status, owner and creation time', async () => {
      await store.write(create(mesh));
      expect(await store.write(put({ a: '1' }, { owner: mesh }))).toMatchObject({ result: 'created', version: 0 });
      const made = await store.get(timeout('a'));
      await store.write({ op: 'update', key: timeout('a'), labels: {}, spec: {}, status: { ready: true }, syncVersion: 'v' });
      expect(await store.write(put({ b: '2' }))).toMatchObject({ result: 'updated', version: 2 });
      const row = await store.get(timeout('a'));
      expect(row).toMatchObject({ labels: { b: '2' }, spec: { n: 1 }, status: { ready: true }, syncVersion: null });
      expect(row?.owner).toEqual(made?.owner);
      expect(row?.creationTime).toEqual(made?.creationTime);
      expect(await store.write(put({}, { status: { ready: false } }))).toMatchObject({ result: 'updated', version: 3 });
      expect((await store.get(timeout('a')))?.status).toEqual({ ready: false });
    });

    it('need their owner, also for an existing row', async () => {
      await store.write(put({}));
      const message = 'its owner Mesh "default" does not exist';
      expect(await store.write(put({}, { owner: mesh }))).toEqual({ result: 'rejected', message });
    });

    it('of a batch may name an owner of the batch or none, and be for own rows only or for all', async () => {
      const outcomes = await store.writeBatch([
        put({}, { owner: mesh, ownOnly: true }),
        put({}, { key: timeout('b'), status: { s: 1 } }),
        put({}, { key: mesh }),
        put({}, { key: timeout('c'), owner: mesh, status: { s: 2 } }),
      ]);
      expect(outcomes.map(({ result }) => result)).toEqual(['created', 'created', 'created', 'created']);
      expect((await store.get(timeout('c')))?.status).toEqual({ s: 2 });
    });

    const origin = 'kuma.io/origin';
    const zone = 'kuma.io/zone';
    const namespace = 'k8s.kuma.io/namespace';
    it.each<[string, Labels, Labels, string]>([
      ['says nothing of where it is from', {}, { [origin]: 'zone', [zone]: 'east' }, 'updated'],
      ['is from here', { [origin]: 'zone', [zone]: 'east' }, { [origin]: 'zone', [zone]: 'east' }, 'updated'],
      ['is from the other side', { [origin]: 'global' }, { [origin]: 'zone' }, 'conflict'],
      ['is from another zone', { [origin]: 'zone', [zone]: 'west' }, { [origin]: 'zone', [zone]: 'east' }, 'conflict'],
      ['is from a zone, where the write is not', { [zone]: 'west' }, { [origin]: 'global' }, 'conflict'],
      ['is of the same namespace', { [namespace]: 'n' }, { [namespace]: 'n' }, 'updated'],
      ['is of another namespace', { [namespace]: 'n' }, { [namespace]: 'm' }, 'conflict'],
      ['is of a namespace, where the write is not', { [namespace]: 'n' }, {}, 'conflict'],
      ['is of no namespace, where the write is', { [namespace]: '' }, { [namespace]: 'n' }, 'conflict'],
    ])('for own rows only meet a row that %s', async (_, stored, written, result) => {
      await store.write(create(timeout('a'), { labels: stored }));
      expect((await store.write(put(written, { ownOnly: true }))).result).toBe(result);
      expect((await store.get(timeout('a')))?.labels).toEqual(result === 'updated' ? written : stored);
    });

    it('for own rows only do not replace a synced row', async () => {
      await store.write(create(timeout('a'), { syncVersion: '' }));
      expect(await store.write(put({}, { ownOnly: true }))).toEqual({ result: 'conflict' });
    });
  });

  it('a put for own rows only replaces exactly the rows that mayReplace allows', async () => {
    const zone: ResourceKey = { type: 'Zone', mesh: '', name: 'east' };
    await store.write(create(zone));
    const labels = fc.record(
      {
        'kuma.io/origin': fc.constantFrom('global', 'zone'),
        'kuma.io/zone': fc.constantFrom('east', 'west'),
        'k8s.kuma.io/namespace': fc.constantFrom('', 'n', 'm'),
      },
      { requiredKeys: [] },
    );
    const stored = fc.record({
      labels,
      syncVersion: fc.option(fc.constantFrom('', 'v'), { freq: 2 }),
      owner: fc.option(fc.constant(zone), { freq: 2 }),
    });
    const pairs = fc.sample(fc.record({ stored, written: labels }), { numRuns: 1_000, seed: 1 });
    const key = (index: number): ResourceKey => timeout(`n${String(index)}`);
    await store.writeBatch(pairs.map((pair, index) => create(key(index), pair.stored)));
    const puts = pairs.map(({ written }, index): Write => ({
      op: 'put',
      key: key(index),
      labels: written,
      spec: {},
      ownOnly: true,
    }));
    const outcomes = await store.writeBatch(puts);
    const expected = pairs.map((pair) => (mayReplace(pair.stored, { labels: pair.written }) ? 'updated' : 'conflict'));
    expect(outcomes.map(({ result }) => result)).toEqual(expected);
    expect(new Set(expected)).toEqual(new Set(['updated', 'conflict']));
  });

  it('a write alone has the outcome and the row that it has in a batch', async () => {
    await store.write(create(mesh));
    const origin = fc.record({ 'kuma.io/origin': fc.constantFrom('global', 'zone') }, { requiredKeys: [] });
    const owner = fc.constantFrom(null, undefined, mesh, { ...mesh, name: 'absent' });
    const content = fc.record(
      { labels: origin, spec: fc.constantFrom({}, { n: 1 }), owner, status: fc.constantFrom(undefined, { ready: true }) },
      { requiredKeys: ['labels', 'spec'] },
    );
    const writes = fc.oneof(
      fc.record({ op: fc.constant('create' as const), content }),
      fc.record({ op: fc.constant('put' as const), content, ownOnly: fc.boolean() }),
      fc.record({ op: fc.constant('update' as const), content, expectVersion: fc.constantFrom(undefined, 0, 1) }),
    );
    const syncVersion = fc.constantFrom(null, 'v');
    const rows = fc.option(fc.record({ labels: origin, spec: fc.constant({ old: true }), syncVersion }));
    const cases = fc.sample(fc.record({ stored: rows, write: writes }), { numRuns: 200, seed: 1 });
    const key = (of: string, index: number): ResourceKey => timeout(`${of}${String(index)}`);
    const stored = (of: string): Write[] =>
      cases.flatMap((one, index) => (one.stored === null ? [] : [create(key(of, index), one.stored)]));
    const written = (of: string): Write[] =>
      cases.map(({ write: { content: fields, ...more } }, index) => ({ ...more, ...fields, key: key(of, index) }));
    await store.writeBatch([...stored('alone'), ...stored('batch')]);
    const alone: WriteOutcome[] = [];
    for (const write of written('alone')) alone.push(await store.write(write));
    const withoutTime = (outcome: WriteOutcome): object => ({ ...outcome, creationTime: undefined });
    expect(alone.map(withoutTime)).toEqual((await store.writeBatch(written('batch'))).map(withoutTime));
    for (const index of cases.keys()) {
      const [one, other] = [await store.get(key('alone', index)), await store.get(key('batch', index))];
      const { name, creationTime, modificationTime, ...row } = one ?? {};
      const { name: _, creationTime: __, modificationTime: ___, ...rowOfBatch } = other ?? {};
      expect(row).toEqual(rowOfBatch);
    }
    expect(new Set(alone.map(({ result }) => result)).size).toBeGreaterThan(4);
  });

  describe('batches', () => {
    it('store the valid rows and report each invalid one', async () => {
      await store.write(create(timeout('old')));
      const outcomes = await store.writeBatch([
        create(timeout('new')),
        create(timeout('old')),
        create(timeout('x'.repeat(254))),
        create(timeout('orphan'), { owner: mesh }),
        create(timeout('nul\0')),
        { op: 'delete', key: timeout('never') },
      ]);
      expect(outcomes.map(({ result }) => result)).toEqual(['created', 'exists', 'rejected', 'rejected', 'rejected', 'missing']);
      expect(await store.count({ type: 'MeshTimeout' })).toBe(2);
    });

    it('of thousands of rows have an outcome for each in order, and store all or none', async () => {
      const names = Array.from({ length: 3_000 }, (_, index) => `n${String(index)}`);
      const taken = new Set([0, 1_249, 1_250, 2_999]);
      await store.writeBatch([...taken].map((index) => create(timeout(names[index] ?? ''))));
      const outcomes = await store.writeBatch([create(mesh), ...names.map((name) => create(timeout(name), { owner: mesh }))]);
      expect(outcomes[0]).toMatchObject({ result: 'created', version: 0 });
      expect(outcomes.slice(1).flatMap(({ result }, index) => (result === 'exists' ? [index] : []))).toEqual([...taken]);
      expect(await store.count({ type: 'MeshTimeout' })).toBe(3_000);
      const puts = names.map<Write>((name) => ({ op: 'put', key: timeout(name), labels: {}, spec: { again: true } }));
      await expect(store.writeAll([...puts, { op: 'delete', key: timeout('never') }])).resolves.toHaveLength(3_001);
      expect((await store.get(timeout('n2998')))?.version).toBe(0);
      const done = await store.writeBatch(puts);
      expect(done.every(({ result }) => result === 'updated')).toBe(true);
    });

    it.each<[string, object]>([
      ['half a surrogate pair', { m: ['x', { y: '\ud800' }] }],
      ['half a surrogate pair in a key', { 'a\udc00': 1 }],
      ['NUL', { m: '\0' }],
    ])('refuse a status with %s and store the others (Kuma issue 11062)', async (_, status) => {
      const outcomes = await store.writeBatch([
        create(timeout('bad'), { status: { ...status } }),
        create(timeout('good'), { status: { m: 'a text with \\u0000, \\ud800 and 😀' } }),
      ]);
      expect(outcomes).toMatchObject([
        { result: 'rejected', message: 'status: must be valid text' },
        { result: 'created', version: 0 },
      ]);
      expect((await store.get(timeout('good')))?.status).toEqual({ m: 'a text with \\u0000, \\ud800 and 😀' });
    });

    it('refuse labels that are not strings, and accept any spec', async () => {
      const spec = { 'k\ud800': ['\0', '\udc00', '\\u0000'] };
      const outcomes = await store.writeBatch([
        create(timeout('a'), { labels: { team: '\ud800' } }),
        create(timeout('b'), { labels: { 'te\0am': 'x' } }),
        create(timeout('c'), { spec }),
      ]);
      expect(outcomes.map(({ result }) => result)).toEqual(['rejected', 'rejected', 'created']);
      expect((await store.get(timeout('c')))?.spec).toEqual(spec);
    });

    it('ignore names that no row can have, as reads do (Kuma issue 11062)', async () => {
      const never = [timeout('nul\0'), timeout('half\ud800'), { ...timeout('a'), mesh: '\0' }];
      await store.write(create(timeout('a')));
      expect((await store.getMany([...never, timeout('a')])).map(({ name }) => name)).toEqual(['a']);
      const reads = await Promise.all([...never, timeout('a')].map((key) => store.get(key)));
      expect(reads.map((row) => row?.name)).toEqual([undefined, undefined, undefined, 'a']);
      const deletes = [...never, timeout('a')].map((key): Write => ({ op: 'delete', key }));
      const outcomes = await store.writeBatch(deletes);
      expect(outcomes.map(({ result }) => result)).toEqual(['missing', 'missing', 'missing', 'deleted']);
    });

    it('may delete an owner together with its rows', async () => {
      const outcomes = await store.writeBatch([create(timeout('owned'), { owner: mesh }), create(mesh)]);
      expect(outcomes.map(({ result }) => result)).toEqual(['created', 'created']);
      await store.write({ op: 'delete', key: mesh });
      expect(await store.get(timeout('owned'))).toBeUndefined();
    });

    it('of an older epoch change nothing (engine 11)', async () => {
      const older = await store.acquireFencingToken('east');
      const newer = await store.acquireFencingToken('east');
      await expect(store.writeBatch([create(timeout('late'))], { peer: 'east', epoch: older })).rejects.toMatchObject({
        code: 'conflict',
      });
      expect(await store.get(timeout('late'))).toBeUndefined();
      await store.writeBatch([create(timeout('fresh'))], { peer: 'east', epoch: newer });
      expect(await store.get(timeout('fresh'))).toBeDefined();
      expect(await store.epochs(['east', 'west'])).toEqual([{ peer: 'east', epoch: newer }]);
    });

    it('of peers that ask together have an epoch each, and a peer that asks twice has two', async () => {
      const before = await store.acquireFencingToken('east');
      const epochs = await Promise.all(['west', 'east', 'north', 'east'].map((peer) => store.acquireFencingToken(peer)));
      expect(epochs).toEqual([1, before + 1, 1, before + 2]);
      const newest = [['east', before + 2] as const, ['north', 1] as const, ['west', 1] as const];
      expect((await store.epochs(['east', 'north', 'west'])).toSorted((a, b) => (a.peer < b.peer ? -1 : 1))).toEqual(
        newest.map(([peer, epoch]) => ({ peer, epoch })),
      );
    });

    it('record a deleted Mesh, but not one that never existed', async () => {
      await store.writeBatch([create({ ...mesh, name: 'kept' }), create({ ...mesh, name: 'pay' })]);
      expect(await store.deletedMeshes(['never', 'a\0b', 'pay'])).toEqual([]);
      await store.write({ op: 'delete', key: { ...mesh, name: 'pay' } });
      expect(await store.deletedMeshes(['never', 'a\0b', 'pay', 'kept'])).toEqual(['pay']);
    });

    it('of an older epoch are announced: a newer epoch notifies the older receiver without a write', async () => {
      const fences = new FenceWatch(store, following);
      const stop = new AbortController();
      const running = fences.run(stop.signal);
      const peer = 'a "strange"\n name';
      const lost = vi.fn();
      fences.watch({ peer, epoch: await store.acquireFencingToken(peer) }, lost);
      await store.acquireFencingToken(peer);
      await vi.waitFor(() => expect(lost).toHaveBeenCalledOnce());
      stop.abort();
      await running;
    });
  });

  describe('lists', () => {
    it('are sorted by mesh and name, filtered by labels and name, and paged', async () => {
      await store.writeBatch([
        create({ ...timeout('b'), mesh: 'm1' }, { labels: { team: 'x', env: 'p' } }),
        create({ ...timeout('a'), mesh: 'm2' }, { labels: { team: 'x' } }),
        create({ ...timeout('a_c'), mesh: 'm1' }, { labels: { team: 'y' } }),
        create({ ...timeout('abc'), mesh: 'm1' }, { status: { proxyProblems: [] } }),
      ]);
      const names = async (query: object): Promise<string[]> =>
        (await store.list({ type: 'MeshTimeout', ...query })).map(({ mesh: m, name }) => `${m}/${name}`);
      expect(await names({})).toEqual(['m1/a_c', 'm1/abc', 'm1/b', 'm2/a']);
      expect(await names({ labels: { team: 'x' } })).toEqual(['m1/b', 'm2/a']);
      expect(await names({ labels: { team: 'x', env: 'p' } })).toEqual(['m1/b']);
      expect(await names({ nameContains: 'a_' })).toEqual(['m1/a_c']);
      expect(await names({ statusKey: 'proxyProblems' })).toEqual(['m1/abc']);
      expect(await names({ mesh: 'm1', limit: 1, offset: 1 })).toEqual(['m1/abc']);
      expect(await store.count({ type: 'MeshTimeout', mesh: 'm1' })).toBe(3);
      await store.write(create({ ...timeout('d'), mesh: 'm1' }, { spec: { to: [{ state: "It's_100%" }] } }));
      expect(await names({ specContains: `"state":"It's_100%"` })).toEqual(['m1/d']);
      expect(await names({ specContains: `"state":"It%"` })).toEqual([]);
    });
  });

  describe('metas', () => {
    it('find rows by labels, by a name prefix, or by the owner', async () => {
      const owner: ResourceKey = { type: 'Zone', mesh: '', name: 'east' };
      const other = { ...owner, name: 'west' };
      await store.writeBatch([create(owner), create(other)]);
      await store.writeBatch([
        create(timeout('labelled'), { labels: { zone: 'east' } }),
        create(timeout('east.named')),
        create(timeout('owned'), { owner }),
        create(timeout('of-another'), { owner: other }),
        create(timeout('nobodys')),
        create({ ...timeout('other-type'), type: 'MeshRetry' }, { owner }),
      ]);
      const found = async (query: object): Promise<string[]> =>
        (await store.listMeta({ types: ['MeshTimeout'], ...query })).map(({ name }) => name).sort();
      expect(await found({ owner })).toEqual(['owned']);
      expect(await found({ labels: { zone: 'east' }, namePrefix: 'east.', owner })).toEqual(['east.named', 'labelled', 'owned']);
      expect(await found({})).toHaveLength(5);
    });

    it('says of a row what a read of the row says, but for its content', async () => {
      await store.write(create(timeout('a')));
      await store.write({ op: 'put', key: timeout('a'), labels: {}, spec: { n: 2 } });
      const row = await store.get(timeout('a'));
      const [meta] = await store.listMeta({ types: ['MeshTimeout'] });
      expect([meta?.version, meta?.modificationTime]).toEqual([1, row?.modificationTime]);
    });
  });

  describe('the digest of types', () => {
    it('differs after each write of a row of them, and after no other', async () => {
      const digest = (): Promise<string> => store.digest(['MeshTimeout', 'MeshRetry']);
      const seen = [await digest()];
      const writes: Write[] = [
        create(timeout('a')),
        { op: 'put', key: timeout('a'), labels: {}, spec: { n: 2 } },
        create({ ...timeout('a'), type: 'MeshRetry' }),
        { op: 'delete', key: timeout('a') },
      ];
      for (const write of writes) {
        await store.write(write);
        seen.push(await digest());
      }
      expect(new Set(seen).size).toBe(5);
      await store.write(create({ ...timeout('b'), type: 'MeshAccessLog' }));
      expect(await digest()).toBe(seen.at(-1));
    });
  });

  describe('the change feed', () => {
    it('starts with all rows, then reports each change before a mark that is sent after it', async () => {
      const stop = new AbortController();
      const seen: StoreChange[] = [];
      const reading = (async () => {
        for await (const change of store.changes(stop.signal)) seen.push(change);
      })();
      await expect.poll(() => seen[0]).toEqual({ kind: 'all' });
      await store.writeBatch([create(mesh), create(timeout('feed-owned'), { owner: mesh }), create(timeout('feed-kept'))]);
      expect((await store.writeAll([create(timeout('feed-none')), { op: 'delete', key: timeout('never') }])).length).toBe(2);
      await store.write({ op: 'delete', key: mesh });
      await store.mark('after');
      await expect.poll(() => seen).toContainEqual({ kind: 'mark', id: 'after' });
      const names = seen.flatMap((change) => (change.kind === 'keys' ? change.keys.map(({ name }) => name) : [change.kind]));
      expect(names.at(-1)).toBe('mark');
      // A hint about rows of the previous test may arrive late.
      expect(names).toEqual(expect.arrayContaining(['all', 'default', 'feed-owned', 'feed-kept']));
      expect(names).not.toContain('feed-none');
      stop.abort();
      await reading;
    });

    it('refuses a mark that does not fit a notification, and sends the others of the same moment', async () => {
      const stop = new AbortController();
      const seen: StoreChange[] = [];
      const reading = (async () => {
        for await (const change of store.changes(stop.signal)) seen.push(change);
      })();
      await expect.poll(() => seen[0]).toEqual({ kind: 'all' });
      const sent = await Promise.allSettled(['one', 'x'.repeat(8_000), 'two'].map((id) => store.mark(id)));
      expect(sent.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      for (const id of ['one', 'two']) await expect.poll(() => seen).toContainEqual({ kind: 'mark', id });
      stop.abort();
      await reading;
    });

    it('reports to each reader the changes of its types, and insights of zones to readers of insights alone', async () => {
      const stop = new AbortController();
      const heard = new Map<string, StoreChange[]>([
        ['everything', []],
        ['policies', []],
        ['zones', []],
        ['proxies', []],
      ]);
      const types = new Map([
        ['policies', ['MeshTimeout', 'Zone']],
        ['zones', ['Zone', 'ZoneInsight']],
        ['proxies', ['DataplaneInsight']],
      ]);
      const reading = [...heard].map(async ([who, seen]) => {
        for await (const change of store.changes(stop.signal, types.get(who))) seen.push(change);
      });
      await expect.poll(() => [...heard.values()].map(([first]) => first)).toEqual(Array(4).fill({ kind: 'all' }));
      const of = (type: string, name: string): ResourceKey => ({ type, mesh: type === 'ZoneInsight' ? '' : 'default', name });
      await store.write(create(of('ZoneInsight', 'insight-of-zone')));
      await store.writeBatch([
        create(of('DataplaneInsight', 'insight-copy'), { syncVersion: 'v1' }),
        create(of('DataplaneInsight', 'insight-own')),
        create(of('MeshTimeout', 'insight-none')),
      ]);
      await store.write({
        op: 'update',
        key: of('DataplaneInsight', 'insight-copy'),
        labels: {},
        spec: { a: 1 },
        syncVersion: 'v2',
      });
      await store.mark('after insights');
      const isDone = (seen: StoreChange[]): boolean => seen.some((one) => one.kind === 'mark' && one.id === 'after insights');
      await expect.poll(() => [...heard.values()].every(isDone)).toBe(true);
      // A hint about rows of the previous test may arrive late.
      const names = (who: string): string[] =>
        (heard.get(who) ?? [])
          .flatMap((one) => (one.kind === 'keys' ? one.keys.map(({ name }) => name) : []))
          .filter((name) => name.startsWith('insight-'));
      expect(names('everything').toSorted()).toEqual(['insight-none', 'insight-own']);
      expect(names('policies')).toEqual(['insight-none']);
      expect(names('zones')).toEqual(['insight-of-zone']);
      expect(names('proxies').toSorted()).toEqual(['insight-copy', 'insight-copy', 'insight-own']);
      expect(heard.get('zones')?.at(-1)?.kind).toBe('mark');
      stop.abort();
      await Promise.all(reading);
    });
  });
}
