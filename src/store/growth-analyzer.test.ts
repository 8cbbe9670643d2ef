// These tests show when PostgreSQL plans again, by the number of created rows and of all rows.
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { fakeDatabase } from '../../test/support/fake-database.ts';
import type { Database } from './database.ts';
import { GrowthAnalyzer } from './growth-analyzer.ts';

/** The rows of the table, as PostgreSQL estimates them; an error instead of an answer. */
let rows: number | Error;
let analyzed: number;
let reasons: unknown[];

beforeEach(() => {
  [rows, analyzed, reasons] = [0, 0, []];
});

function analyzerOf(kind: Database['kind'] = 'postgres'): (created: number) => Promise<number> {
  const bulk = fakeDatabase((sql) => {
    if (rows instanceof Error) throw rows;
    if (!sql.includes('meridian_analyze')) return [{ rows }];
    analyzed += 1;
    return [];
  });
  const log = { debug: (fields: { reason: unknown }) => void reasons.push(fields.reason) };
  const analyzer = new GrowthAnalyzer({ kind, bulk }, log as never);
  return async (created) => {
    analyzer.created(created);
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    return analyzed;
  };
}

describe('a table of PostgreSQL', () => {
  it('is analyzed after each 500 new rows while it is small', async () => {
    const create = analyzerOf();
    rows = 1_000;
    expect([await create(499), await create(1), await create(499), await create(1)]).toEqual([0, 1, 1, 2]);
  });

  it('is analyzed when it has grown by half', async () => {
    const create = analyzerOf();
    rows = 4_000;
    expect([await create(500), await create(1_999), await create(1)]).toEqual([1, 1, 2]);
  });

  it('is analyzed once at a time, and the rows that come meanwhile count for the next time', async () => {
    const bulk = fakeDatabase((sql) => {
      if (sql.includes('meridian_analyze')) analyzed += 1;
      return [];
    });
    const analyzer = new GrowthAnalyzer({ kind: 'postgres', bulk }, { debug: () => undefined });
    const settle = async (): Promise<number> => {
      for (let turn = 0; turn < 5; turn += 1) await setImmediate();
      return analyzed;
    };
    analyzer.created(500);
    analyzer.created(600);
    expect(await settle()).toBe(1);
    analyzer.created(1);
    expect(await settle()).toBe(2);
  });

  it('is analyzed again after a failure, which is logged', async () => {
    const create = analyzerOf();
    rows = new Error('the database does not answer');
    expect(await create(500)).toBe(0);
    expect(reasons).toEqual(['the database does not answer']);
    rows = 0;
    expect([await create(499), await create(1)]).toEqual([0, 1]);
  });
});

it('an embedded database is not analyzed', async () => {
  expect(await analyzerOf('embedded')(10_000)).toBe(0);
});
