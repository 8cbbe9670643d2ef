import { expect, it } from 'vitest';
import type { Item } from '../client/api-client.ts';
import { pagedTable, table, TableLayout } from './table.ts';

it('keeps the column widths of the first page on later pages while cells fit', () => {
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

it('escapes line feeds and tabs of a cell, so that no cell looks like another row', () => {
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

it('computes each cell of a large table once', () => {
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

it('puts three spaces between columns', () => {
  expect(table(['A', 'LONG'], [['value', 'x']])).toBe('A       LONG\nvalue   x');
});

const itemsFrom = (start: number, count: number): Item[] =>
  Array.from({ length: count }, (_, index) => ({ type: 'MeshTimeout', mesh: 'shop', name: `row-${String(start + index)}` }));

it('prints a page before it requests the next page, and each item once', async () => {
  const events: string[] = [];
  let cells = 0;
  const columns = [{ head: 'NAME', of: ({ name }: Item) => ((cells += 1), name) }];
  const pages = function* (): Generator<Item[]> {
    for (let page = 0; page < 20; page += 1) {
      events.push(`asked ${String(page)}`);
      // Each page begins with the last item of the one before.
      yield itemsFrom(page * 999, 1_000);
    }
  };
  const lines: string[] = [];
  for await (const text of pagedTable(columns, pages())) {
    events.push('drawn');
    lines.push(...text.split('\n'));
  }
  expect(lines[0]).toBe('NAME');
  expect(lines.slice(1)).toEqual(itemsFrom(0, 20 * 999 + 1).map(({ name }) => name));
  expect(cells).toBe(20 * 999 + 1);
  expect(events).toEqual(Array.from({ length: 20 }, (_, page) => [`asked ${String(page)}`, 'drawn']).flat());
});

it.each([0, 1, 2])('prints nothing for %i pages without rows', async (count) => {
  const pages = Array.from({ length: count }, (): Item[] => []);
  const texts: string[] = [];
  for await (const text of pagedTable([{ head: 'NAME', of: ({ name }: Item) => name }], pages)) texts.push(text);
  expect(texts).toEqual([]);
});

it('prints the head first, although the first pages are empty', async () => {
  const texts: string[] = [];
  const pages = [[], itemsFrom(0, 1), [], itemsFrom(1, 1)];
  for await (const text of pagedTable([{ head: 'NAME', of: ({ name }: Item) => name }], pages)) texts.push(text);
  expect(texts).toEqual(['NAME\nrow-0', 'row-1']);
});
