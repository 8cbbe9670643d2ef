// The answers of a store to the errors of its database, on a database that fails by command.
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { fakeDatabase } from '../../test/support/fake-database.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { createLogger } from '../base/log.ts';
import type { Database } from './database.ts';
import type { Write } from './resource-store.ts';
import { SqlStore } from './sql-store.ts';

const KEY = { type: 'MeshTimeout', mesh: 'default', name: 'a' };

/** A store whose first `failures` statements fail with a SQLSTATE; the others find no row. */
function failing(failures: number, code: string): { store: SqlStore; statements: string[]; parameters: unknown[] } {
  const [statements, parameters]: [string[], unknown[]] = [[], []];
  const db = fakeDatabase((sql, given) => {
    statements.push(sql);
    parameters.push(...given);
    if (statements.length <= failures) throw Object.assign(new Error(`failure ${String(statements.length)}`), { code });
    return [];
  });
  return { store: new SqlStore(databaseOf(db), createLogger('silent')), statements, parameters };
}

function databaseOf(db: Database['db']): Database {
  const nothing = (): Promise<void> => Promise.resolve();
  return {
    ...{ kind: 'embedded', clock: new ManualClock(), db, bulk: db, unlimited: db, session: null, close: nothing },
    listen: nothing,
  };
}

describe('a statement', () => {
  it.each([
    ['40001', 'lost a race'],
    ['40P01', 'was in a deadlock'],
    ['26000', 'has no plan any more'],
  ])('with the error %s is tried five times: it %s', async (code) => {
    const good = failing(4, code);
    expect(await good.store.getMany([KEY])).toEqual([]);
    expect(good.statements).toHaveLength(5);
    const bad = failing(5, code);
    await expect(bad.store.getMany([KEY])).rejects.toThrow();
    expect(bad.statements).toHaveLength(5);
  });

  it('with another error is tried once', async () => {
    const { store, statements } = failing(1, '22P02');
    await expect(store.getMany([KEY])).rejects.toThrow('failure 1');
    expect(statements).toHaveLength(1);
  });

  it('is not sent for keys that no row can have', async () => {
    const { store, statements } = failing(0, '');
    expect(await store.getMany([{ ...KEY, name: 'a\u0000' }])).toEqual([]);
    expect(statements).toEqual([]);
  });
});

it('asks which rows of a batch are locked after a lock timeout: those that it writes, and their owners', async () => {
  const asked: string[] = [];
  let hasFailed = false;
  const db = fakeDatabase((sql, given) => {
    const text = given.map(String).join();
    if (sql.includes('skip locked')) asked.push(...(JSON.parse(text) as { name: string }[]).map(({ name }) => name));
    else if (text.includes('gone') && !hasFailed) {
      hasFailed = true;
      throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
    }
    return [];
  });
  const store = new SqlStore(databaseOf(db), createLogger('silent'));
  const owner = { type: 'Mesh', mesh: '', name: 'default' };
  const put = (name: string): Write => ({ op: 'put', key: { ...KEY, name }, labels: {}, spec: {} });
  // The first write is on its way while the others become one batch.
  const writes: Write[] = [
    put('first'),
    { op: 'delete', key: { ...KEY, name: 'gone' } },
    { op: 'create', key: { ...KEY, name: 'new' }, labels: {}, spec: {}, owner },
    put('own'),
  ];
  await Promise.allSettled(writes.map((write) => store.write(write)));
  expect(asked).toEqual(['gone', 'new', 'default', 'own', 'own']);
});

it('reads one count for all callers of one turn', async () => {
  let statements = 0;
  const db = fakeDatabase((_, [type]) => {
    statements += 1;
    return [{ n: type === 'Mesh' ? '2' : '0' }];
  });
  const store = new SqlStore(databaseOf(db), createLogger('silent'));
  const counts = [store.count({ type: 'Mesh' }), store.count({ type: 'Mesh' }), store.count({ type: 'Zone' })];
  expect(await Promise.all(counts)).toEqual([2, 2, 0]);
  expect(statements).toBe(2);
});

it('locks rows in the order of their keys, so that two batches wait for each other in no circle', async () => {
  for (const op of ['create', 'update', 'put', 'delete'] as const) {
    const { store, parameters } = failing(0, '');
    const writes = ['c', 'a', 'b'].map((name) => ({ op, key: { ...KEY, name }, labels: {}, spec: {} }));
    expect(await store.writeBatch(writes)).toHaveLength(3);
    const rows = JSON.parse(String(parameters.find((text) => String(text).includes('"name":"a"')))) as { name: string }[];
    expect([op, ...rows.map(({ name }) => name)]).toEqual([op, 'a', 'b', 'c']);
  }
});

it.each(['create', 'put', 'update'] as const)(
  'a %s has a name of at most 253 characters, a type and a mesh of 100',
  async (op) => {
    const { store } = failing(0, '');
    const outcomeOf = async (key: Partial<typeof KEY>): Promise<unknown> => {
      const [outcome] = await store.writeBatch([{ op, key: { ...KEY, ...key }, labels: {}, spec: {} }]);
      return outcome?.result === 'rejected' && outcome.message.includes('characters') ? outcome.message : null;
    };
    // A character may be two code units.
    for (const letter of ['a', '\u{1f600}'])
      for (const [field, most] of [
        ['name', 253],
        ['mesh', 100],
        ['type', 100],
      ] as const) {
        expect(await outcomeOf({ [field]: letter.repeat(most) })).toBeNull();
        expect(await outcomeOf({ [field]: letter.repeat(most + 1) })).toBe(
          `${field}: must have at most ${String(most)} characters`,
        );
      }
  },
);

describe('a batch in which every write must succeed', () => {
  const create = (name: string): Write => ({ op: 'create', key: { ...KEY, name }, labels: {}, spec: {} });

  it('fails with the error of its statement', async () => {
    const { store } = failing(1, '22P02');
    await expect(store.writeAll([create('a'), create('b')])).rejects.toThrow('failure 1');
  });

  it('says what each write came to, also where one has no row', async () => {
    const { store } = failing(0, '');
    const update: Write = { op: 'update', key: KEY, labels: {}, spec: {} };
    expect(await store.writeAll([create('b'), update])).toMatchObject([{ result: 'created', version: 0 }, { result: 'missing' }]);
  });

  it.each<[string, Write[], number]>([
    ['once all of it is stored', [create('a')], 1],
    ['not when a write failed', [create('a'), { op: 'update', key: KEY, labels: {}, spec: {} }], 0],
  ])('counts for the statistics of PostgreSQL %s', async (_, writes, analyzed) => {
    const statements: string[] = [];
    const db = fakeDatabase((sql) => {
      statements.push(sql);
      return [];
    });
    const store = new SqlStore({ ...databaseOf(db), kind: 'postgres' }, createLogger('silent'));
    for (let batch = 0; batch < 500; batch += 1) await store.writeAll(writes);
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    expect(statements.filter((sql) => sql.includes('meridian_analyze'))).toHaveLength(analyzed);
  });
});

it('counts the rows that batches create for the statistics of PostgreSQL, and no others', async () => {
  const statements: string[] = [];
  const db = fakeDatabase((sql) => {
    statements.push(sql);
    return [];
  });
  const store = new SqlStore({ ...databaseOf(db), kind: 'postgres' }, createLogger('silent'));
  const analyzed = async (): Promise<number> => {
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    return statements.filter((sql) => sql.includes('meridian_analyze')).length;
  };
  const batch = (op: 'create' | 'delete', count: number): Write[] =>
    Array.from({ length: count }, (_, at) => ({ op, key: { ...KEY, name: String(at) }, labels: {}, spec: {} }));
  await store.writeBatch(batch('create', 499));
  await store.writeBatch(batch('delete', 10));
  expect(await analyzed()).toBe(0);
  await store.writeBatch(batch('create', 1));
  expect(await analyzed()).toBe(1);
});

it('a store that closes ends its followers before its database', async () => {
  const steps: string[] = [];
  const db = fakeDatabase(() => []);
  const database: Database = {
    ...{ kind: 'embedded', clock: new ManualClock(), db, bulk: db, unlimited: db, session: null },
    listen: async (_channel, onListening, _onPayload, signal) => {
      await onListening({ add: () => Promise.resolve(), remove: () => Promise.resolve() });
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      steps.push('the feed ended');
    },
    close: async () => void steps.push('the database closed'),
  };
  const store = new SqlStore(database, createLogger('silent'));
  const changes: string[] = [];
  const following = (async () => {
    for await (const { kind } of store.changes(new AbortController().signal)) changes.push(kind);
  })();
  await expect.poll(() => changes).toEqual(['all']);
  await store.close();
  await following;
  expect(steps).toEqual(['the feed ended', 'the database closed']);
});
