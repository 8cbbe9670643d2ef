// A list of resources as a table, drawn page by page while it is read.
import type { Item } from '../client/api-client.ts';
import type { Column } from './column.ts';
import { TableLayout } from './table-layout.ts';

/**
 * The text of each page as soon as the page is there, the head before the first row; nothing for no rows.
 * @param pages may name an item again, which is then left out
 */
export async function* itemTable(
  columns: readonly Column[],
  pages: AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>,
): AsyncGenerator<string> {
  const head = columns.map((column) => column.head);
  const layout = new TableLayout(head);
  const drawn = new Set<string>();
  for await (const page of pages) {
    const rows: string[][] = drawn.size === 0 ? [head] : [];
    for (const item of page) {
      const id = JSON.stringify([item.mesh ?? '', item.name]);
      if (drawn.has(id)) continue;
      drawn.add(id);
      rows.push(columns.map((column) => column.of(item)));
    }
    if (drawn.size > 0 && rows.length > 0) yield layout.lines(rows).join('\n');
  }
}
