// Writes are grouped while one transaction is in flight, in order for each key. A write of a locked row waits alone.
import { fc } from '../../test/support/property.ts';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MeridianError } from '../base/errors.ts';
import { GroupCommitWriter } from './group-commit-writer.ts';
import type { Write, WriteOutcome } from './resource-store.ts';

const writeOf = (name: string, n = 0): Write => ({
  ...{ op: 'put', key: { type: 'MeshTimeout', mesh: 'default', name }, labels: {}, spec: { n } },
});
const nameOf = ({ key }: Write): string => key.name;

/** Transactions that end on command, or at once with a conflict when one of their rows is locked. */
class HeldRows {
  readonly held = new Set<string>();
  readonly begun: string[][] = [];
  readonly stored: Write[] = [];
  readonly #open: (() => void)[] = [];
  /** Whether transactions end by themselves. */
  isFast = true;

  run = async (writes: readonly Write[]): Promise<WriteOutcome[]> => {
    this.begun.push(writes.map(nameOf));
    await (this.isFast ? Promise.resolve() : new Promise<void>((resolve) => this.#open.push(resolve)));
    if (writes.some((write) => this.held.has(nameOf(write)))) throw new MeridianError('conflict', 'held');
    this.stored.push(...writes);
    return writes.map(() => ({ result: 'updated', version: 1, creationTime: new Date(0) }));
  };

  heldAmong = (writes: readonly Write[]): Promise<ReadonlySet<Write>> =>
    Promise.resolve(new Set(writes.filter((write) => this.held.has(nameOf(write)))));

  end(): void {
    this.#open.shift()?.();
  }
}

describe('combined writes', () => {
  let rows: HeldRows;
  let now: number;
  let writer: GroupCommitWriter;

  beforeEach(() => {
    rows = new HeldRows();
    now = 0;
    writer = new GroupCommitWriter({ run: rows.run, heldAmong: rows.heldAmong, now: () => now, maxWaitMs: 9_000 });
  });

  const writeAll = async (names: readonly string[]): Promise<string[]> =>
    (await Promise.allSettled(names.map((name) => writer.write(writeOf(name))))).map(({ status }) => status);

  it('are stored when their rows are free, and fail separately when their rows are locked', async () => {
    rows.held.add('b');
    expect(await writeAll(['first', 'a', 'b', 'c'])).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(rows.begun).toEqual([['first'], ['a', 'b', 'c'], ['a', 'c'], ['b']]);
  });

  describe('of large documents', () => {
    const large = (name: string, n = 0): Write => ({
      ...{ op: 'put', key: { type: 'MeshTimeout', mesh: 'default', name }, labels: {} },
      spec: { n, list: Array.from({ length: 100 }, (_, at) => ({ at })) },
    });

    it('have transactions of their own, so that no other write waits for one', async () => {
      rows.isFast = false;
      const all = [large('big'), writeOf('a'), writeOf('b'), large('huge')].map((write) => writer.write(write));
      await vi.waitFor(() => expect(rows.begun).toEqual([['a'], ['big'], ['huge']]));
      rows.end();
      await vi.waitFor(() => expect(rows.begun.at(-1)).toEqual(['b']));
      for (let left = 0; left < 3; left += 1) rows.end();
      await Promise.all(all);
    });

    it('keep their place among the writes of their key', async () => {
      rows.isFast = false;
      const writes = [writeOf('a', 1), writeOf('b', 1), large('b', 2), writeOf('b', 3), large('a', 2), writeOf('a', 3)];
      const all = writes.map((write) => writer.write(write));
      const ended = Promise.all(all).then(() => (rows.isFast = true));
      while (!rows.isFast) {
        rows.end();
        await Promise.resolve();
      }
      await ended;
      const numbers = (name: string): unknown[] =>
        rows.stored.flatMap((write) => (nameOf(write) === name && 'spec' in write ? [write.spec['n']] : []));
      expect([numbers('a'), numbers('b')]).toEqual([
        [1, 2, 3],
        [1, 2, 3],
      ]);
    });
  });

  it('are retried one by one before any later write begins, so that writes of a key keep their order', async () => {
    const run = async (writes: readonly Write[]): Promise<WriteOutcome[]> => {
      if (writes.length > 1) throw new MeridianError('invalid', 'one of them is faulty');
      return await rows.run(writes);
    };
    writer = new GroupCommitWriter({ run, heldAmong: rows.heldAmong, now: () => now, maxWaitMs: 9_000 });
    const last = writer.write(writeOf('first')).then(() => writer.write(writeOf('b', 2)));
    const all = ['a', 'b', 'c'].map((name) => writer.write(writeOf(name, 1)));
    await Promise.all([...all, last]);
    expect(rows.stored.map((write) => `${nameOf(write)} ${JSON.stringify('spec' in write ? write.spec : null)}`)).toEqual([
      ...['first {"n":0}', 'a {"n":1}', 'b {"n":1}', 'c {"n":1}', 'b {"n":2}'],
    ]);
  });

  it.each([
    [64, [64]],
    [2_500, [1_000, 1_000, 500]],
  ])('that wait are committed together, at most a thousand at a time: %i', async (count, sizes) => {
    await writeAll(['first', ...Array.from({ length: count }, (_, n) => `waiting-${String(n)}`)]);
    expect(rows.begun.slice(1, sizes.length + 1).map(({ length }) => length)).toEqual(sizes);
    expect(rows.stored).toHaveLength(count + 1);
  });

  it('that have waited too long do not begin, and say that nothing was changed', async () => {
    rows.isFast = false;
    const first = writer.write(writeOf('first'));
    const late = writer.write(writeOf('a', 1));
    now = 5_000;
    const inTime = writer.write(writeOf('b'));
    now = 9_001;
    rows.isFast = true;
    rows.end();
    await expect(late).rejects.toThrow('nothing was changed');
    await Promise.all([first, inTime]);
    expect(rows.stored.map(nameOf)).toEqual(['first', 'b']);
  });

  it('to different locked rows wait in four lanes beside each other', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) rows.held.add(name);
    await writeAll(names);
    rows.begun.length = 0;
    rows.isFast = false;
    const waiting = writeAll(names);
    await new Promise(setImmediate);
    expect(rows.begun).toHaveLength(4);
    for (let left = names.length; left > 0; left -= 1) {
      rows.end();
      await new Promise(setImmediate);
    }
    expect(rows.begun).toHaveLength(5);
    expect(await waiting).toHaveLength(5);
  });

  it('to a recently locked row do not delay other writes, and rejoin the batch later', async () => {
    rows.held.add('b');
    await writeAll(['b']);
    rows.begun.length = 0;
    rows.isFast = false;
    const waiting = [writeAll(['b', 'b']), writeAll(['a', 'c'])];
    await vi.waitFor(() => expect(rows.begun).toEqual([['a'], ['b']]));
    for (let transaction = 0; transaction < 4; transaction += 1) {
      rows.end();
      await new Promise(setImmediate);
    }
    expect(await Promise.all(waiting)).toEqual([['rejected', 'rejected'], ['fulfilled', 'fulfilled']]); // oxfmt-ignore
    rows.isFast = true;
    rows.held.clear();
    rows.begun.length = 0;
    now += 59_999;
    await writeAll(['first', 'a', 'b']);
    expect(rows.begun).toEqual([['first'], ['b'], ['a']]);
    rows.begun.length = 0;
    now += 1;
    await writeAll(['first', 'a', 'b']);
    expect(rows.begun).toEqual([['first'], ['a', 'b']]);
  });

  it('forget rows that were locked long ago when another row is locked', async () => {
    for (const name of ['a', 'b', 'c']) {
      rows.held.add(name);
      await writeAll([name]);
    }
    expect(writer.keysAside).toBe(3);
    now += 60_000;
    rows.held.add('d');
    await writeAll(['d']);
    expect(writer.keysAside).toBe(1);
  });

  it('are tried one by one when no row is locked any more', async () => {
    rows.held.add('b');
    rows.heldAmong = () => Promise.resolve(new Set());
    writer = new GroupCommitWriter({ run: rows.run, heldAmong: rows.heldAmong, now: () => now, maxWaitMs: 9_000 });
    expect(await writeAll(['first', 'a', 'b', 'c'])).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(rows.begun.slice(2)).toEqual([['a'], ['b'], ['c']]);
  });

  it('to one key are stored in the order of their arrival, even when another transaction locks the row', async () => {
    const step = fc.oneof(
      fc.record({ write: fc.constantFrom('a', 'b', 'c', 'd') }),
      fc.record({ hold: fc.constantFrom('a', 'b') }),
      fc.record({ free: fc.constantFrom('a', 'b') }),
      fc.constant('end' as const),
      fc.constant('minute' as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const some = new HeldRows();
        let time = 0;
        const one = new GroupCommitWriter({ run: some.run, heldAmong: some.heldAmong, now: () => time, maxWaitMs: Infinity });
        some.isFast = false;
        const results: Promise<unknown>[] = [];
        for (const [n, doing] of steps.entries()) {
          if (doing === 'end') some.end();
          else if (doing === 'minute') time += 60_000;
          else if ('hold' in doing) some.held.add(doing.hold);
          else if ('free' in doing) some.held.delete(doing.free);
          else results.push(one.write(writeOf(doing.write, n)).catch(() => undefined));
          await new Promise(setImmediate);
        }
        some.isFast = true;
        for (let open = 0; open < 40; open += 1) some.end();
        await Promise.all(results);
        for (const name of ['a', 'b', 'c', 'd']) {
          const order = some.stored
            .filter((write) => nameOf(write) === name)
            .map((write) => (write.op === 'put' ? write.spec['n'] : null));
          expect(order).toEqual(order.toSorted((x, y) => Number(x) - Number(y)));
        }
      }),
    );
  });
});
