import { expect, it } from 'vitest';
import { TableLayout } from './table-layout.ts';

it('keeps the columns of the first page for later ones, as far as their cells fit', () => {
  const layout = new TableLayout(['NAME', 'AGE']);
  expect(
    layout.lines([
      ['NAME', 'AGE'],
      ['cart-long', '5m'],
    ]),
  ).toEqual(['NAME        AGE', 'cart-long   5m']);
  expect(layout.lines([['a', '1h']])).toEqual(['a           1h']);
  expect(
    layout.lines([
      ['cart-even-longer', '1h'],
      ['a', ''],
    ]),
  ).toEqual(['cart-even-longer   1h', 'a']);
});

it('shows the line feeds and tabs of a cell, so that no cell looks like another row', () => {
  expect(
    new TableLayout(['A', 'B']).lines([
      ['east\nwest   Online', 'x'],
      ['y', '1\t2\r\n3'],
    ]),
  ).toEqual([String.raw`east\nwest   Online   x`, String.raw`y                     1\t2\u000d\n3`]);
});

it('counts characters, not UTF-16 units', () => {
  expect(
    new TableLayout(['A', 'B']).lines([
      ['😀', 'x'],
      ['ab', 'y'],
    ]),
  ).toEqual(['😀    x', 'ab   y']);
});

it('reads each cell of a large table once', () => {
  let reads = 0;
  const rows = Array.from({ length: 50_000 }, (_, index) => {
    const row = [`row-${String(index)}`, '5m'];
    return new Proxy(row, {
      get(target, key, receiver) {
        if (key === '0') reads += 1;
        return Reflect.get(target, key, receiver) as unknown;
      },
    });
  });
  const lines = new TableLayout(['NAME', 'AGE']).lines(rows);
  expect(lines).toHaveLength(50_000);
  expect(reads).toBe(50_000);
});
