import { expect, it } from 'vitest';
import type { Item } from '../client/api-client.ts';
import { itemTable } from './item-table.ts';

const itemsFrom = (start: number, count: number): Item[] =>
  Array.from({ length: count }, (_, index) => ({ type: 'MeshTimeout', mesh: 'shop', name: `row-${String(start + index)}` }));

it('draws a page before the next is asked for, and each item once', async () => {
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
  for await (const text of itemTable(columns, pages())) {
    events.push('drawn');
    lines.push(...text.split('\n'));
  }
  expect(lines[0]).toBe('NAME');
  expect(lines.slice(1)).toEqual(itemsFrom(0, 20 * 999 + 1).map(({ name }) => name));
  expect(cells).toBe(20 * 999 + 1);
  expect(events).toEqual(Array.from({ length: 20 }, (_, page) => [`asked ${String(page)}`, 'drawn']).flat());
});

it.each([0, 1, 2])('says nothing for %i pages without rows', async (count) => {
  const pages = Array.from({ length: count }, (): Item[] => []);
  const texts: string[] = [];
  for await (const text of itemTable([{ head: 'NAME', of: ({ name }: Item) => name }], pages)) texts.push(text);
  expect(texts).toEqual([]);
});

it('begins with the head although the first pages are empty', async () => {
  const texts: string[] = [];
  const pages = [[], itemsFrom(0, 1), [], itemsFrom(1, 1)];
  for await (const text of itemTable([{ head: 'NAME', of: ({ name }: Item) => name }], pages)) texts.push(text);
  expect(texts).toEqual(['NAME\nrow-0', 'row-1']);
});
