// The additional contract of a store on SQL: other programs write its table too.
import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Tables } from '../../src/store/database.ts';
import type { ResourceVersion } from '../../src/store/history-store.ts';
import type { ResourceStore, StoreChange, Write } from '../../src/store/resource-store.ts';
import { create, mesh, storeContract, timeout } from './contract.ts';

export type ContractSubject = { readonly store: ResourceStore; readonly db: Kysely<Tables>; readonly close: () => Promise<void> };

/** The whole contract, and the guarantees of the table. */
export function sqlStoreContract(open: () => Promise<ContractSubject>): void {
  let subject: ContractSubject;
  let store: ResourceStore;
  const db = (): Kysely<Tables> => subject.db;
  beforeAll(async () => {
    subject = await open();
    ({ store } = subject);
  });
  afterAll(async () => subject.close());
  beforeEach(async () => void (await sql`delete from resources`.execute(db())));

  storeContract(() => store);

  it('has the snapshot of its rows', async () => {
    await store.writeBatch([create(timeout('a')), create(timeout('b'))]);
    const snapshotOf = async (): Promise<string | null> => (await store.listPage({ type: 'MeshTimeout', limit: 1 })).snapshot;
    // Maintenance of the server may commit transactions.
    await vi.waitFor(async () => expect(await snapshotOf()).toBe(await store.snapshot()));
    const before = await snapshotOf();
    await sql`update resources set spec = '{"by":"hand"}' where name = 'a'`.execute(db());
    expect(await snapshotOf()).not.toBe(before);
    expect((await store.listPage({ type: 'MeshTimeout', limit: 1, offset: 9 })).snapshot).not.toBe(null);
  });

  describe('snapshots', () => {
    it('differ after every commit by any writer, and stay equal otherwise', async () => {
      // Maintenance of the server may commit transactions.
      await vi.waitFor(async () => expect(await store.snapshot()).toBe(await store.snapshot()));
      const seen = [await store.snapshot()];
      await store.write(create(timeout('a')));
      seen.push(await store.snapshot());
      await sql`update resources set spec = '{"by":"hand"}' where name = 'a'`.execute(db());
      seen.push(await store.snapshot());
      await store.write({ op: 'delete', key: timeout('a') });
      seen.push(await store.snapshot());
      expect(seen).not.toContain(null);
      expect(new Set(seen).size).toBe(4);
    });
  });

  it('lets a put for own rows only replace a row without labels', async () => {
    await store.write(create(timeout('a')));
    await sql`update resources set labels = null where name = 'a'`.execute(db());
    const put: Write = { op: 'put', key: timeout('a'), labels: { 'kuma.io/origin': 'zone' }, spec: {}, ownOnly: true };
    expect((await store.write(put)).result).toBe('updated');
  });

  it('keeps what another program writes in the history, with its role', async () => {
    const key = timeout('by-psql-zone');
    const psql = async (...statements: ReturnType<typeof sql>[]): Promise<void> =>
      await db()
        .transaction()
        .execute(async (tx) => {
          await sql`set local application_name = 'psql'`.execute(tx);
          for (const statement of statements) await statement.execute(tx);
        });
    await psql(
      sql`insert into resources (type, mesh, name, version, spec) values ('MeshTimeout', 'default', 'by-psql-zone', 0, '{"n":0}')`,
    );
    await store.write({ op: 'update', key, labels: {}, spec: { n: 1 } });
    await psql(
      sql`update resources set spec = '{"n":2}' where name = 'by-psql-zone'`,
      sql`delete from resources where name = 'by-psql-zone'`,
    );
    const kept = await store.versions({ key, limit: 9 });
    const via = (entry: (typeof kept)[number]): string => `${String(entry.version)} ${entry.action} ${entry.via}`;
    expect(kept.map(via)).toEqual(['3 deleted database', '2 updated database', '1 updated unknown', '0 created database']);
    expect(kept[0]?.author).toBe((await sql<{ role: string }>`select session_user as role`.execute(db())).rows[0]?.role);
  });

  it('keeps each of many rows that one statement replaces', async () => {
    const writes = (n: number): Write[] =>
      Array.from({ length: 1_000 }, (_, index) =>
        create(timeout(`many-${String(index)}`), { spec: { n }, by: { user: 'alice' } }),
      );
    await store.writeBatch(writes(0));
    await store.writeBatch(writes(1).map((write) => ({ ...write, op: 'update' }) as Write));
    expect(await store.versionNumbers(timeout('many-0'))).toEqual([1, 0]);
    expect(await store.versionNumbers(timeout('many-999'))).toEqual([1, 0]);
  });

  it('records a Mesh that psql deletes', async () => {
    await store.write(create({ ...mesh, name: 'by-hand' }));
    await sql`delete from resources where type = 'Mesh'`.execute(db());
    expect(await store.deletedMeshes(['by-hand'])).toEqual(['by-hand']);
  });

  it('reads rows without labels as rows with none', async () => {
    await sql`insert into resources (name, mesh, type, version, spec, labels) values ('n', 'default', 'MeshTimeout', 0, '{}', null), ('j', 'default', 'MeshTimeout', 0, '{}', 'null')`.execute(
      db(),
    );
    expect((await store.list({ type: 'MeshTimeout' })).map(({ labels }) => labels)).toEqual([{}, {}]);
  });

  it('reads versions of rows whose labels were JSON null as versions with none', async () => {
    const key = timeout('null-labels');
    const before = await store.settledVersion();
    await sql`insert into resources (name, mesh, type, version, spec, labels) values (${key.name}, 'default', 'MeshTimeout', 3, '{}', 'null')`.execute(
      db(),
    );
    await store.write({ op: 'put', key, labels: { team: 'a' }, spec: { n: 1 }, by: { user: 'alice' } });
    const labelsOf = (versions: ResourceVersion[]): unknown[] => versions.map(({ version, labels }) => [version, labels]);
    const newest = [4, { team: 'a' }];
    expect(labelsOf(await store.versions({ key, limit: 9 }))).toEqual([newest, [3, {}]]);
    const page = { after: before, upTo: await store.settledVersion(), limit: 9, types: [key.type] };
    expect(labelsOf(await store.versionsAfter(page))).toEqual([[3, {}], newest]);
  });

  describe('synced rows', () => {
    it('lose their version, but not their mark, on an edit (D29)', async () => {
      await store.write(create(timeout('s'), { syncVersion: 'v1' }));
      await sql`update resources set labels = '{"edited": "yes"}' where name = 's'`.execute(db());
      expect((await store.get(timeout('s')))?.syncVersion).toBe('');
      await store.write({ op: 'update', key: timeout('s'), labels: {}, spec: {}, syncVersion: 'v2' });
      expect((await store.get(timeout('s')))?.syncVersion).toBe('v2');
      await sql`update resources set status = '{"vip": "1"}' where name = 's'`.execute(db());
      expect((await store.get(timeout('s')))?.syncVersion).toBe('v2');
    });
  });

  describe('the change feed', () => {
    it('names each written row once, alone or with others', async () => {
      const stop = new AbortController();
      const seen: StoreChange[] = [];
      const reading = (async () => {
        for await (const change of store.changes(stop.signal)) seen.push(change);
      })();
      await expect.poll(() => seen[0]).toEqual({ kind: 'all' });
      // Notifications of the rows before this test may still come.
      await store.mark('begin');
      const [a, b] = [timeout('a'), timeout('b')];
      const by = { user: 'alice' };
      await store.write(create(a));
      await store.write(create(b, { by }));
      for (const op of ['put', 'update'] as const) {
        await store.write({ op, key: a, labels: {}, spec: { op }, by });
        await store.write({ op, key: b, labels: {}, spec: { op }, by: { ...by, restores: 0 } });
        await store.writeBatch([a, b].map((key) => ({ op, key, labels: {}, spec: { op, n: 2 }, by })));
      }
      await store.write({ op: 'delete', key: a, by });
      await sql`update resources set spec = '{}' where name = 'b'`.execute(db());
      await store.mark('end');
      await expect.poll(() => seen.at(-1)).toEqual({ kind: 'mark', id: 'end' });
      const names = seen
        .slice(seen.findIndex((change) => change.kind === 'mark'))
        .map((change) => (change.kind === 'keys' ? change.keys.map(({ name }) => name).join(' ') : change.kind));
      expect(names).toEqual(['mark', 'a', 'b', 'a', 'b', 'a b', 'a', 'b', 'a b', 'a', 'b', 'mark']);
      stop.abort();
      await reading;
    });

    it('names each insight once to a reader that begins while others end', async () => {
      const read = (type = 'ZoneInsight'): { readonly seen: StoreChange[]; readonly stop: () => Promise<void> } => {
        const signal = new AbortController();
        const seen: StoreChange[] = [];
        const reading = (async () => {
          for await (const change of store.changes(signal.signal, [type])) seen.push(change);
        })();
        return { seen, stop: () => (signal.abort(), reading) };
      };
      const policies = read('MeshTimeout');
      await expect.poll(() => policies.seen[0]).toEqual({ kind: 'all' });
      for (let round = 0; round < 3; round += 1) {
        const others = [read(), read()];
        await others[0]?.stop();
        await others[1]?.stop();
      }
      const { seen, stop } = read();
      await expect.poll(() => seen[0]).toEqual({ kind: 'all' });
      const key = { type: 'ZoneInsight', mesh: '', name: 'once' };
      await store.write(create(key));
      await store.mark('end');
      await expect.poll(() => seen.at(-1)).toEqual({ kind: 'mark', id: 'end' });
      expect(seen.filter((change) => change.kind === 'keys')).toEqual([{ kind: 'keys', keys: [key] }]);
      await Promise.all([stop(), policies.stop()]);
    });

    it('starts with all rows, then names the keys of every change by any writer', async () => {
      const stop = new AbortController();
      const seen: StoreChange[] = [];
      const reading = (async () => {
        for await (const change of store.changes(stop.signal)) seen.push(change);
      })();
      await expect.poll(() => seen[0]).toEqual({ kind: 'all' });
      await store.write(create(timeout('ours')));
      await sql`insert into resources (name, mesh, type, version, spec) values ('theirs', 'default', 'MeshTimeout', 0, '{}')`.execute(
        db(),
      );
      const keys = (): string[] => seen.flatMap((change) => (change.kind === 'keys' ? change.keys.map(({ name }) => name) : []));
      await expect.poll(keys).toEqual(expect.arrayContaining(['ours', 'theirs']));
      await sql`update resources set name = 'renamed' where name = 'theirs'`.execute(db());
      await expect.poll(keys).toEqual(expect.arrayContaining(['renamed']));
      await sql`insert into resources (name, mesh, type, version, spec) select 'n' || i, 'default', 'MeshRetry', 0, '{}' from generate_series(1, 1500) i`.execute(
        db(),
      );
      await expect.poll(() => seen).toContainEqual({ kind: 'type', type: 'MeshRetry' });
      stop.abort();
      await reading;
    });

    it('reports what another writer does to insights to readers of insights, and many of them by their types', async () => {
      const stop = new AbortController();
      const heard: StoreChange[][] = [[], []];
      const reading = [undefined, ['ZoneInsight', 'DataplaneInsight']].map(async (types, reader) => {
        for await (const change of store.changes(stop.signal, types)) heard[reader]?.push(change);
      });
      await expect.poll(() => heard.map(([first]) => first)).toEqual([{ kind: 'all' }, { kind: 'all' }]);
      // A hint about rows of the previous test may arrive late.
      const names = (reader: number): string[] =>
        (heard[reader] ?? [])
          .flatMap((one) => (one.kind === 'keys' ? one.keys.map(({ name }) => name) : one.kind === 'type' ? one.type : []))
          .filter((name) => name.startsWith('by-psql-') || name === 'ZoneInsight');
      await sql`insert into resources (name, mesh, type, version, spec, sync_version) values
        ('by-psql-zone', '', 'ZoneInsight', 0, '{}', null), ('by-psql-copy', 'default', 'DataplaneInsight', 0, '{}', ''),
        ('by-psql-own', 'default', 'DataplaneInsight', 0, '{}', null)`.execute(db());
      // A row that a receiver takes over from Kuma's control plane concerns everybody once more.
      await sql`update resources set sync_version = 'v1' where name = 'by-psql-own'`.execute(db());
      await sql`delete from resources where name = 'by-psql-copy'`.execute(db());
      await sql`insert into resources (name, mesh, type, version, spec) select 'z' || i, '', 'ZoneInsight', 0, '{}' from generate_series(1, 1500) i`.execute(
        db(),
      );
      await store.mark('last');
      await expect.poll(() => heard.every((seen) => seen.at(-1)?.kind === 'mark')).toBe(true);
      expect(names(0)).toEqual(['by-psql-own', 'by-psql-own']);
      expect(names(1).toSorted()).toEqual([
        'ZoneInsight',
        'by-psql-copy',
        'by-psql-copy',
        'by-psql-own',
        'by-psql-own',
        'by-psql-zone',
      ]);
      stop.abort();
      await Promise.all(reading);
    });
  });
}
