import { setImmediate } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import type { ResourceKey } from '../resource/types.ts';
import { ReadBatcher } from './read-batcher.ts';

type Statement = { readonly names: string[] } & PromiseWithResolvers<ResourceKey[]>;

let statements: Statement[];
let reader: ReadBatcher<ResourceKey>;

const keyOf = (name: string): ResourceKey => ({ type: 'MeshTimeout', mesh: 'default', name });
const get = (name: string): Promise<ResourceKey | undefined> => reader.get(keyOf(name));

/** Answers a statement with the rows of all its keys that begin with «a». */
function answer(index: number): void {
  const statement = statements[index];
  statement?.resolve(statement.names.filter((name) => name.startsWith('a')).map(keyOf));
}

beforeEach(() => {
  statements = [];
  reader = new ReadBatcher((keys) => {
    const statement = { names: keys.map(({ name }) => name), ...Promise.withResolvers<ResourceKey[]>() };
    statements.push(statement);
    return statement.promise;
  });
});

it('the batcher reads the keys of one turn in one statement, each key once', async () => {
  const rows = [get('a1'), get('b'), get('a1'), get('a2')];
  await setImmediate();
  expect(statements.map(({ names }) => names)).toEqual([['a1', 'b', 'a2']]);
  answer(0);
  expect(await Promise.all(rows)).toEqual([keyOf('a1'), undefined, keyOf('a1'), keyOf('a2')]);
});

it('the batcher has at most two statements in flight, and the next one takes all waiting keys', async () => {
  const rows: Promise<unknown>[] = [];
  for (const name of ['a1', 'a2', 'a3', 'a1', 'a5']) {
    rows.push(get(name));
    await setImmediate();
  }
  expect(statements.map(({ names }) => names)).toEqual([['a1'], ['a2']]);
  answer(1);
  await setImmediate();
  expect(statements.slice(2).map(({ names }) => names)).toEqual([['a3', 'a1', 'a5']]);
  for (const index of [0, 2]) answer(index);
  expect(await Promise.all(rows)).toHaveLength(5);
  const late = get('a6');
  await setImmediate();
  expect(statements).toHaveLength(4);
  answer(3);
  expect(await late).toEqual(keyOf('a6'));
});

it('the batcher reads at most a thousand keys in one statement', async () => {
  const rows = Array.from({ length: 1_001 }, (_, n) => get(`a${String(n)}`));
  await setImmediate();
  expect(statements.map(({ names }) => names.length)).toEqual([1_000]);
  answer(0);
  await setImmediate();
  expect(statements.map(({ names }) => names.length)).toEqual([1_000, 1]);
  answer(1);
  expect(await Promise.all(rows)).not.toContain(undefined);
});

it('the batcher rejects every read of a failed statement, and continues', async () => {
  const failing = Promise.allSettled([get('a1'), get('b')]);
  await setImmediate();
  statements[0]?.reject(new Error('gone'));
  expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = get('a1');
  await setImmediate();
  answer(1);
  expect(await next).toEqual(keyOf('a1'));
});
