import { expect, it } from 'vitest';
import type { ResourceKey } from '../../resource/types.ts';
import { WaitingRows } from './waiting-rows.ts';

const keyOf = (name: string, type = 'MeshTimeout'): ResourceKey => ({ type, mesh: 'default', name });

it('a row waits for one slot, and is ready once when the slot is free', () => {
  const rows = new WaitingRows();
  const ready = (): string[] => rows.takeReady().map(({ name }) => name);
  expect([rows.wait('x', keyOf('a')), rows.wait('x', keyOf('a')), rows.wait('x', keyOf('b'))]).toEqual([true, false, true]);
  expect(rows.wait('y', keyOf('b'))).toBe(true);
  rows.free('unknown');
  expect(ready()).toEqual([]);
  rows.free('x');
  expect([ready(), ready()]).toEqual([['a'], []]);
  rows.free('x');
  rows.free('y');
  expect(ready()).toEqual(['b']);
  expect(rows.wait('x', keyOf('a'))).toBe(true);
});

it('a row that has gone is not ready', () => {
  const rows = new WaitingRows();
  for (const name of ['a', 'b']) rows.wait('x', keyOf(name));
  rows.leave(keyOf('a'));
  rows.leave(keyOf('unknown'));
  rows.free('x');
  expect(rows.takeReady()).toEqual([keyOf('b')]);
});

it('the rows of a type that no longer exist do not wait any more', () => {
  const rows = new WaitingRows();
  for (const name of ['a', 'b']) rows.wait('x', keyOf(name));
  rows.wait('x', keyOf('b', 'MeshRetry'));
  rows.prune('MeshTimeout', ({ name }) => name === 'a');
  rows.free('x');
  expect(rows.takeReady()).toEqual([keyOf('a'), keyOf('b', 'MeshRetry')]);
});
