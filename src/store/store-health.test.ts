import { pino } from 'pino';
import { expect, it } from 'vitest';
import { fakeDatabase } from '../../test/support/fake-database.ts';
import { GroupCommitWriter } from './group-commit-writer.ts';
import type { Write } from './resource-store.ts';
import { StoreHealth } from './store-health.ts';

const failing = (code: string) => (): Promise<never> => Promise.reject(Object.assign(new Error(`as ${code}`), { code }));
const working = (): Promise<number> => Promise.resolve(1);
const silent = pino({ level: 'silent' });
/** Stores each trial. */
const answering = fakeDatabase(() => [{ read_only: 'off' }]);

it('the health reports once that the database is unavailable, and once that it is back', async () => {
  const lines: string[] = [];
  const health = new StoreHealth(
    pino({}, { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) }),
    answering,
  );
  for (const code of ['57P01', 'ECONNREFUSED', '53300'])
    await expect(health.watch('read', failing(code))).rejects.toMatchObject({ code: 'unavailable' });
  for (let time = 0; time < 3; time += 1) await health.watch('read', working);
  expect(lines).toEqual(['the database does not answer', 'the database answers again']);
});

it.each(['28P01', '28000', '3D000'])(
  'a refused login (%s) makes the database unavailable; only the log has its words',
  async (code) => {
    const lines: unknown[] = [];
    const write = (line: string): void => {
      const { level, reason, msg } = JSON.parse(line) as Record<string, unknown>;
      lines.push([level, reason, msg]);
    };
    const health = new StoreHealth(pino({}, { write }), answering);
    await expect(health.watch('read', failing('ECONNREFUSED'))).rejects.toThrow('as ECONNREFUSED');
    for (const kind of ['read', 'write'] as const)
      await expect(health.watch(kind, failing(code))).rejects.toMatchObject({
        code: 'unavailable',
        message: 'the database refuses the login of the control plane; its log has the reason',
      });
    await health.watch('read', working);
    expect(lines).toEqual([
      [40, 'as ECONNREFUSED', 'the database does not answer'],
      [50, `as ${code}`, expect.stringMatching(/^the database refuses the login .* store\.postgres/)],
      [40, undefined, 'the database answers again'],
    ]);
  },
);

it.each(['53100', '25006', '54000'])(
  'the health is read-only after %s until a trial is stored, after any reads and small writes',
  async (code) => {
    let isFull = true;
    const db = fakeDatabase((text) => {
      if (isFull && text.includes('insert')) throw Object.assign(new Error('no room'), { code });
      return [{ read_only: 'off' }];
    });
    const health = new StoreHealth(silent, db);
    await expect(health.watch('write', failing(code))).rejects.toMatchObject({ code: 'unavailable' });
    await health.watch('read', working);
    await health.watch('write', working);
    await expect(health.ping()).rejects.toMatchObject({ code: 'unavailable' });
    expect(health.takesWrites).toBe(false);
    isFull = false;
    await health.ping();
    expect(health.takesWrites).toBe(true);
  },
);

it('a trial does not end the refusal of a write that failed after the trial began', async () => {
  const refusals: Promise<unknown>[] = [];
  const refuse = (): Promise<unknown> => health.watch('write', failing('53100')).catch((error: unknown) => error);
  const db = fakeDatabase((text) => {
    if (text.includes('insert') && refusals.length === 0) refusals.push(refuse());
    return [{ read_only: 'off' }];
  });
  const health = new StoreHealth(silent, db);
  await refuse();
  await expect(health.ping()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('as 53100') as string,
  });
  expect([refusals.length, health.takesWrites]).toEqual([1, false]);
  await health.ping();
  expect(health.takesWrites).toBe(true);
});

it('the health logs each failure and each recovery of the writes, also without a ping', async () => {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push((JSON.parse(line) as { msg: string }).msg.split(':')[0] ?? '');
  const health = new StoreHealth(pino({}, { write }), answering);
  for (let time = 1; time <= 2; time += 1) {
    await expect(health.watch('write', failing('53100'))).rejects.toThrow();
    await health.watch('write', working);
    await expect.poll(() => health.takesWrites).toBe(true);
  }
  const once = ['the database stores nothing', 'the database stores again'];
  expect(lines).toEqual([...once, ...once]);
});

it('the health rethrows an error of another origin', async () => {
  const health = new StoreHealth(silent, answering);
  await expect(health.watch('write', failing('23505'))).rejects.toMatchObject({ code: '23505' });
  expect(health.takesWrites).toBe(true);
});

it('combined writes fail together when the database is unavailable, without a query for each', async () => {
  const health = new StoreHealth(silent, answering);
  const batches: number[] = [];
  const writer = new GroupCommitWriter({
    run: (writes) => {
      batches.push(writes.length);
      return health.watch('write', failing('57P01'));
    },
    heldAmong: () => Promise.resolve(new Set()),
    now: () => 0,
    maxWaitMs: Infinity,
  });
  const write = (name: string): Write => ({
    op: 'put',
    key: { type: 'MeshTimeout', mesh: 'default', name },
    labels: {},
    spec: {},
  });
  const results = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => writer.write(write(name))));
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'rejected'));
  expect(batches).toEqual([1, 3]);
});

it('the health asks a database for a write where that is read-only, or took no writes', async () => {
  let [isReadOnly, statements] = ['off', 0];
  const db = fakeDatabase(() => {
    statements += 1;
    return [{ read_only: isReadOnly }];
  });
  const health = new StoreHealth(silent, db);
  const asked = async (): Promise<number> => {
    statements = 0;
    await health.ping().catch(() => undefined);
    return statements;
  };
  expect(await asked()).toBe(1);
  isReadOnly = 'on';
  expect(await asked()).toBeGreaterThan(1);
  isReadOnly = 'off';
  await expect(health.watch('write', failing('25006'))).rejects.toThrow();
  expect(await asked()).toBeGreaterThan(1);
  expect([health.takesWrites, await asked()]).toEqual([true, 1]);
});
