// Tables without borders, three spaces between columns, as kubectl and kumactl print them. Rows may come in pages.
// Invariants: the work is linear in the rows; a printed page is not read again; a row is always one line.
import { visibleLine } from '../../base/visible-text.ts';

const GAP = '   ';

/** Columns are as wide as the widest cell so far, so that later pages keep to those of the first as far as their cells fit. */
export class TableLayout {
  readonly #widths: number[];

  constructor(head: readonly string[]) {
    this.#widths = head.map(widthOf);
  }

  /** A line for each of these rows, without trailing spaces. A line feed in a cell is shown as `\\n`: no cell looks like a row. */
  lines(rows: readonly (readonly string[])[]): string[] {
    const cells = rows.map((row) => row.map(visibleLine));
    for (const row of cells)
      for (const [column, text] of row.entries()) this.#widths[column] = Math.max(this.#widths[column] ?? 0, widthOf(text));
    return cells.map((row) =>
      row
        .map((text, column) => this.#padded(text, column))
        .join(GAP)
        .trimEnd(),
    );
  }

  #padded(text: string, column: number): string {
    return text + ' '.repeat(Math.max(0, (this.#widths[column] ?? 0) - widthOf(text)));
  }
}

/** Characters, not UTF-16 units. */
function widthOf(text: string): number {
  return Array.from(text).length;
}
