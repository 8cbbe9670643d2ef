// Connections of a pool of the driver, without a database.
import type pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { driverText } from './pg-errors.ts';
import { preparing, StatementNames } from './preparing-pool.ts';

type Statement = { readonly text: string; readonly name?: string; readonly values: unknown[]; readonly query_timeout: number };

class FakeClient {
  readonly asked: Statement[] = [];
  readonly released: (Error | boolean | undefined)[] = [];
  fault: Error | null = null;

  query(statement: Statement): Promise<{ rows: unknown[] }> {
    this.asked.push(statement);
    return this.fault === null ? Promise.resolve({ rows: [] }) : Promise.reject(this.fault);
  }

  release(destroy?: Error | boolean): void {
    this.released.push(destroy);
  }
}

describe('a pool that prepares statements', () => {
  let clients: FakeClient[];
  let spent: Set<unknown>;
  let names: StatementNames;

  beforeEach(() => {
    clients = [new FakeClient(), new FakeClient()];
    spent = new Set();
    names = new StatementNames();
  });

  function pool(): ReturnType<typeof preparing> {
    const next = [...clients];
    const given = { options: {}, connect: async () => next.shift() ?? clients[1] } as unknown as pg.Pool;
    return preparing(given, { names, limitMs: 70, isSpent: (client) => spent.has(client) });
  }

  it('gives a text one name on all connections, a time limit to each statement, and no name to a statement without parameters', async () => {
    const one = pool();
    for (const client of [await one.connect(), await one.connect()])
      for (const [text, values] of [['select $1', [1]], ['select $2', [1]], ['begin', []]] as const) await client.query(text, values); // oxfmt-ignore
    for (const { asked } of clients)
      expect(asked).toEqual([
        { name: 'meridian_1', text: 'select $1', values: [1], query_timeout: 70 },
        { name: 'meridian_2', text: 'select $2', values: [1], query_timeout: 70 },
        { text: 'begin', values: [], query_timeout: 70 },
      ]);
  });

  it('prepares 500 texts, and none after them', () => {
    const given = Array.from({ length: 501 }, (_, n) => names.of(`select ${String(n)}`));
    expect([new Set(given).size, given[499], given[500]]).toEqual([501, 'meridian_500', undefined]);
    expect(names.of('select 3')).toBe('meridian_4');
  });

  it('closes a connection with a timed-out statement, and sends nothing more on it', async () => {
    const client = await pool().connect();
    const [fake] = clients;
    if (fake === undefined) throw new Error('no client');
    fake.fault = new Error(driverText.overdue);
    await expect(client.query('select $1', [1])).rejects.toThrow(driverText.overdue);
    fake.fault = null;
    await expect(client.query('rollback', [])).rejects.toThrow(driverText.overdue);
    client.release();
    expect([fake.asked.length, fake.released]).toEqual([1, [true]]);
  });

  it('keeps a connection after a failed statement', async () => {
    const client = await pool().connect();
    const [fake] = clients;
    if (fake === undefined) throw new Error('no client');
    fake.fault = new Error('syntax error');
    await expect(client.query('select $1', [1])).rejects.toThrow('syntax error');
    fake.fault = null;
    await client.query('rollback', []);
    client.release();
    expect([fake.asked.length, fake.released]).toEqual([2, [undefined]]);
  });

  it('closes unusable connections and takes another; one connection is always the same object', async () => {
    const [first, second] = clients;
    spent.add(first);
    const one = pool();
    const client = await one.connect();
    expect([first?.released, second?.released]).toEqual([[true], []]);
    expect(await one.connect()).toBe(client);
  });
});
