// The contract of the history of every store: who wrote which version of a resource, and what of it is kept.
import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject, Labels, ResourceKey } from '../../src/resource/types.ts';
import type { HistoryBounds, ResourceVersion } from '../../src/store/history-store.ts';
import type { Author, ResourceStore, Write } from '../../src/store/resource-store.ts';
import { fc } from '../support/property.ts';

const alice: Author = { user: 'alice' };
const bob: Author = { user: 'bob' };
const FOREVER: HistoryBounds = { versions: 1_000, replacedBefore: new Date(0) };
/** The next test has other names: a store may keep the history of earlier tests. */
let test = 0;

export function historyContract(current: () => ResourceStore): void {
  let store: ResourceStore;
  let key: ResourceKey;
  beforeEach(() => {
    store = current();
    key = { type: 'MeshTimeout', mesh: 'shop', name: `kept-${String((test += 1))}` };
  });

  const put = (spec: JsonObject, by?: Author, more: { labels?: Labels; syncVersion?: string } = {}): Promise<unknown> =>
    store.write({ op: 'put', key, labels: { team: 'a' }, spec, by, ...more });
  const update = (spec: JsonObject, by?: Author): Promise<unknown> =>
    store.write({ op: 'update', key, labels: { team: 'a' }, spec, by });
  const remove = (by?: Author): Promise<unknown> => store.write({ op: 'delete', key, by });
  /** `3 updated alice {"n":1}`, the newest first. */
  const kept = async (of = key): Promise<string[]> =>
    (await store.versions({ key: of, limit: 100 })).map(
      ({ version, action, author, via, spec }) =>
        `${String(version)} ${action} ${author ?? via} ${spec === null ? '-' : JSON.stringify(spec)}`,
    );
  const pruneAll = async (bounds: HistoryBounds): Promise<void> => {
    for (let progress = { counted: 0, aged: 0 }; ;) {
      const next = await store.pruneVersions(bounds, progress);
      if (next.counted === progress.counted && next.aged === progress.aged) return;
      progress = next;
    }
  };

  describe('the history', () => {
    it('keeps each version that a person writes, with its author and content', async () => {
      await put({ n: 0 }, alice);
      await put({ n: 1 }, bob);
      await update({ n: 2 }, { user: 'bob', restores: 0 });
      expect(await kept()).toEqual(['2 updated bob {"n":2}', '1 updated bob {"n":1}', '0 created alice {"n":0}']);
      const [last, ...rest] = await store.versions({ key, limit: 2 });
      expect(last).toMatchObject({ ...key, rowVersion: 2, via: 'api', restored: 0, labels: { team: 'a' } });
      expect(rest).toHaveLength(1);
      expect(last?.time).toEqual((await store.get(key))?.modificationTime);
      expect(await store.versionNumbers(key)).toEqual([2, 1, 0]);
      expect((await store.versions({ key, before: 1, limit: 9 })).map(({ version }) => version)).toEqual([0]);
    });

    it('has no version of a write that changes nothing', async () => {
      await put({ n: 0 }, alice);
      await put({ n: 0 }, bob);
      await put({ n: 0 }, bob, { labels: { team: 'b' } });
      expect(await kept()).toEqual(['2 updated bob {"n":0}', '0 created alice {"n":0}']);
    });

    it('keeps nothing of what a control plane writes and of what came by KDS', async () => {
      await put({ n: 0 });
      await put({ n: 1 });
      await put({ n: 2 }, undefined, { syncVersion: 'v1' });
      await remove();
      expect(await kept()).toEqual([]);
    });

    it('keeps what a control plane wrote when a person replaces it', async () => {
      await put({ n: 0 });
      await put({ n: 1 });
      await put({ n: 2 }, alice);
      await put({ n: 3 });
      await put({ n: 4 }, bob);
      const all = ['4 updated bob {"n":4}', '3 updated unknown {"n":3}', '2 updated alice {"n":2}', '1 updated unknown {"n":1}'];
      expect(await kept()).toEqual(all);
    });

    it('keeps who deleted a resource, and goes on counting when it is created again', async () => {
      await put({ n: 0 }, alice);
      await put({ n: 1 }, alice);
      await remove(bob);
      await put({ n: 5 }, alice);
      await put({ n: 6 }, alice);
      const all = ['4 updated alice {"n":6}', '3 created alice {"n":5}', '2 deleted bob -', '1 updated alice {"n":1}'];
      expect((await kept()).slice(0, 4)).toEqual(all);
      expect((await store.versions({ key, limit: 1 }))[0]).toMatchObject({ version: 4, rowVersion: 1 });
    });

    it('keeps what a person deletes, also if nobody has written it since the history began', async () => {
      await put({ n: 7 });
      await remove(alice);
      expect(await kept()).toEqual(['1 deleted alice -', '0 created unknown {"n":7}']);
    });

    it('keeps a deletion of a written resource by a control plane', async () => {
      await put({ n: 0 }, alice);
      await remove();
      expect(await kept()).toEqual(['1 deleted control-plane -', '0 created alice {"n":0}']);
    });

    it('keeps the resources that a deleted Mesh takes along, without derived ones', async () => {
      const mesh = { type: 'Mesh', mesh: '', name: key.name };
      const inMesh = (type: string, name: string): ResourceKey => ({ type, mesh: mesh.name, name });
      const made = { op: 'create', labels: {}, spec: { n: 1 }, owner: mesh } as const;
      await store.write({ op: 'create', key: mesh, labels: {}, spec: {}, by: alice });
      await store.writeBatch([
        { ...made, key: inMesh('MeshTimeout', 'written'), by: alice },
        { ...made, key: inMesh('MeshTimeout', 'default') },
        { ...made, key: inMesh('MeshTimeout', 'copy'), syncVersion: 'v1' },
        { ...made, key: inMesh('MeshService', 'derived'), labels: { 'kuma.io/managed-by': 'meshservice-generator' } },
      ]);
      await store.write({ op: 'delete', key: mesh, by: bob });
      expect(await kept(mesh)).toEqual(['1 deleted bob -', '0 created alice {}']);
      expect(await kept(inMesh('MeshTimeout', 'written'))).toEqual(['1 deleted bob -', '0 created alice {"n":1}']);
      expect(await kept(inMesh('MeshTimeout', 'default'))).toEqual(['1 deleted bob -', '0 created unknown {"n":1}']);
      expect(await kept(inMesh('MeshTimeout', 'copy'))).toEqual([]);
      expect(await kept(inMesh('MeshService', 'derived'))).toEqual([]);
    });

    it('keeps each author of writes that share a statement', async () => {
      const keys = ['a', 'b', 'c'].map((letter) => ({ ...key, name: `${key.name}-${letter}` }));
      const authors = [alice, undefined, bob];
      const writes = (n: number): Write[] =>
        keys.map((one, index) => ({ op: 'put', key: one, labels: {}, spec: { n }, by: authors[index] }));
      await store.writeBatch(writes(0));
      await Promise.all(writes(1).map((write) => store.write(write)));
      expect(await Promise.all(keys.map((one) => kept(one)))).toEqual([
        ['1 updated alice {"n":1}', '0 created alice {"n":0}'],
        [],
        ['1 updated bob {"n":1}', '0 created bob {"n":0}'],
      ]);
    });

    it('keeps of a write alone what it keeps of it in a batch', async () => {
      const content = fc.record({
        by: fc.constantFrom(undefined, alice, bob, { user: 'bob', restores: 0 }),
        op: fc.constantFrom('put' as const, 'create' as const, 'update' as const, 'delete' as const),
        spec: fc.constantFrom({ n: 1 }, { n: 2 }),
        labels: fc.constantFrom({}, { team: 'a' }),
        syncVersion: fc.constantFrom(null, null, null, 'v1'),
      });
      const lives = fc.sample(fc.array(content, { minLength: 3, maxLength: 8 }), { numRuns: 30, seed: 1 });
      for (const [index, life] of lives.entries()) {
        const type = ['MeshTimeout', 'Secret', 'DataplaneInsight'][index % 3] ?? '';
        const alone = { ...key, type, name: `${key.name}-${String(index)}-alone` };
        const together = { ...key, type, name: `${key.name}-${String(index)}-together` };
        const beside = { ...key, type, name: `${key.name}-${String(index)}-beside` };
        for (const write of life) {
          await store.write({ ...write, key: alone });
          await store.writeBatch([together, beside].map((one) => ({ ...write, key: one })));
        }
        const [one, other] = [
          await store.versions({ key: alone, limit: 99 }),
          await store.versions({ key: together, limit: 99 }),
        ];
        const comparable = ({ id: _id, name: _name, time: _time, ...rest }: ResourceVersion): object => rest;
        expect(one.map(comparable)).toEqual(other.map(comparable));
      }
    });

    it('never keeps the data of a secret', async () => {
      key = { ...key, type: 'Secret' };
      await put({ data: 'b25l' }, alice);
      await put({ data: 'dHdv' }, alice);
      await remove(alice);
      expect(await kept()).toEqual(['2 deleted alice -', '1 updated alice -', '0 created alice -']);
      expect(JSON.stringify(await store.versions({ key, limit: 9 }))).not.toContain('b25l');
    });

    it('keeps nothing of insights, also if a person writes one', async () => {
      key = { ...key, type: 'DataplaneInsight' };
      await put({ n: 0 }, alice);
      await put({ n: 1 }, alice);
      await remove(alice);
      expect(await kept()).toEqual([]);
    });

    it('keeps nothing of writes that are rolled back', async () => {
      const write = { op: 'create', key, labels: {}, spec: {}, by: alice } as const;
      await store.writeAll([write, { op: 'update', key: { ...key, name: 'missing' }, labels: {}, spec: {}, by: alice }]);
      expect(await kept()).toEqual([]);
    });

    it('keeps a user whose name the database cannot store', async () => {
      await put({ n: 0 }, { user: 'a\0\ud800b' });
      expect((await store.versions({ key, limit: 1 }))[0]?.author).toMatch(/^a.*b$/su);
    });

    it('has nothing of a resource that never existed, and of a name that cannot exist', async () => {
      expect(await store.versions({ key: { ...key, name: 'a\0b' }, limit: 1 })).toEqual([]);
      expect(await store.versionNumbers({ ...key, name: 'a\0b' })).toEqual([]);
      expect(await store.versions({ key, limit: 1 })).toEqual([]);
    });

    it('reads the versions of all resources in the order of the writes, page by page', async () => {
      const before = await store.settledVersion();
      for (const n of [0, 1]) await put({ n }, alice);
      key = { ...key, type: 'Secret' };
      await put({}, bob);
      const read = async (after: number, limit: number, types = ['MeshTimeout', 'Secret']): Promise<ResourceVersion[]> =>
        store.versionsAfter({ after, upTo: await store.settledVersion(), limit, types });
      const [first, second, third, ...more] = await read(before, 10);
      expect([first, second, third].map((one) => [one?.type, one?.version])).toEqual([
        ['MeshTimeout', 0],
        ['MeshTimeout', 1],
        ['Secret', 0],
      ]);
      expect(more).toEqual([]);
      expect(await read(before, 1)).toEqual([first]);
      expect(await read(first?.id ?? 0, 10, ['MeshTimeout'])).toEqual([second]);
      expect(await store.versionsAfter({ after: before, upTo: second?.id ?? 0, limit: 10, types: ['MeshTimeout'] })).toEqual([
        first,
        second,
      ]);
      expect(third?.id).toBe(await store.settledVersion());
    });

    it('removes the oldest versions of a resource beyond the bound', async () => {
      for (const n of [0, 1, 2, 3]) await put({ n }, alice);
      await pruneAll({ ...FOREVER, versions: 2 });
      expect(await store.versionNumbers(key)).toEqual([3, 2]);
      await put({ n: 4 }, alice);
      expect(await store.versionNumbers(key)).toEqual([4, 3, 2]);
    });

    it('removes versions that were replaced before a time, and keeps the last one', async () => {
      await put({ n: 0 }, alice);
      await put({ n: 1 }, alice);
      const later = new Date(Date.now() + 60_000);
      await pruneAll({ ...FOREVER, replacedBefore: new Date(0) });
      expect(await store.versionNumbers(key)).toEqual([1, 0]);
      await pruneAll({ ...FOREVER, replacedBefore: later });
      expect(await store.versionNumbers(key)).toEqual([1]);
    });

    it('removes all versions of a resource that was deleted before a time', async () => {
      await put({ n: 0 }, alice);
      await remove(bob);
      await pruneAll({ ...FOREVER, replacedBefore: new Date(Date.now() + 60_000) });
      expect(await store.versionNumbers(key)).toEqual([]);
    });

    it('removes the oldest versions of all resources that were replaced or deleted', async () => {
      const before = await store.settledVersion();
      const kept = (name: string): Promise<number[]> => store.versionNumbers({ ...key, name });
      const { name } = key;
      const of = (other: string): void => void (key = { ...key, name: other });
      of(`${name}-stays`);
      await put({ n: 0 }, alice);
      of(`${name}-gone`);
      await put({ n: 0 }, alice);
      await remove(bob);
      of(`${name}-new`);
      for (const n of [0, 1, 2]) await put({ n }, alice);
      const all = await store.countVersions();
      expect(await store.trimVersions(before, 3)).toMatchObject({ removed: 3 });
      expect([await kept(`${name}-stays`), await kept(`${name}-gone`), await kept(`${name}-new`)]).toEqual([[0], [], [2, 1]]);
      const { upTo, removed } = await store.trimVersions(before, 100);
      expect(removed).toBe(1);
      expect(await kept(`${name}-new`)).toEqual([2]);
      expect(await store.trimVersions(upTo, 100)).toEqual({ upTo, removed: 0 });
      expect(await store.countVersions()).toBe(all - 4);
    });
  });
}
