// Tables without borders, three spaces between columns, as kubectl and kumactl print them. Rows may come in pages.
// Invariants: the cost is linear in the rows; a printed page is not read again; a row is always one line.
import { visibleLine } from '../../base/visible-text.ts';
import type { Item } from '../client/api-client.ts';

const GAP = '   ';

/** @property wide shown only with `-o wide` @property ifAny shown only if this holds for an item of the first page */
export type Column = {
  readonly head: string;
  readonly wide?: boolean;
  readonly ifAny?: (item: Item) => boolean;
  readonly of: (item: Item) => string;
};

/** The columns that these items need. */
export function neededColumns(columns: readonly Column[], items: readonly Item[]): readonly Column[] {
  return columns.filter(({ ifAny }) => ifAny === undefined || items.some(ifAny));
}

/** Columns are as wide as the widest cell so far, so later pages keep the widths of the first while their cells fit. */
export class TableLayout {
  readonly #widths: number[];

  constructor(head: readonly string[]) {
    this.#widths = head.map(widthOf);
  }

  /** A line for each row, without trailing spaces. A line feed in a cell is printed as `\\n`, so no cell looks like a row. */
  lines(rows: readonly (readonly string[])[]): string[] {
    const cells = rows.map((row) => row.map(visibleLine));
    for (const row of cells)
      for (const [column, text] of row.entries()) this.#widths[column] = Math.max(this.#widths[column] ?? 0, widthOf(text));
    return cells.map((row) =>
      row
        .map((text, column) => text + ' '.repeat((this.#widths[column] ?? 0) - widthOf(text)))
        .join(GAP)
        .trimEnd(),
    );
  }
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return new TableLayout(head).lines([head, ...rows]).join('\n');
}

/** A row for each item. */
export function itemTable(columns: readonly Column[], items: readonly Item[], { wide }: { wide: boolean }): string {
  const shown = neededColumns(columns, items).filter((column) => wide || column.wide !== true);
  return table(
    shown.map(({ head }) => head),
    items.map((item) => shown.map((column) => column.of(item))),
  );
}

/**
 * The text of each page as soon as it arrives, with the head before the first row; nothing without rows.
 * @param pages may repeat an item, which is then omitted
 */
export async function* pagedTable(
  columns: readonly Column[],
  pages: AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>,
): AsyncGenerator<string> {
  let shown = columns;
  let layout = new TableLayout([]);
  const drawn = new Set<string>();
  for await (const page of pages) {
    const rows: string[][] = [];
    if (drawn.size === 0) {
      shown = neededColumns(columns, page);
      const head = shown.map((column) => column.head);
      layout = new TableLayout(head);
      rows.push(head);
    }
    for (const item of page) {
      const id = JSON.stringify([item.mesh ?? '', item.name]);
      if (drawn.has(id)) continue;
      drawn.add(id);
      rows.push(shown.map((column) => column.of(item)));
    }
    if (drawn.size > 0 && rows.length > 0) yield layout.lines(rows).join('\n');
  }
}

/** The width counts characters, not UTF-16 units. */
function widthOf(text: string): number {
  return Array.from(text).length;
}
