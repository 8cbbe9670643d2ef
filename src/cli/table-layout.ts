// Tables without borders, three spaces between columns, as kubectl and kumactl print them. Rows may come in pages.
// Invariant: the work is linear in the rows; a page that was drawn is not looked at again.
import { visibleText } from '../base/visible-text.ts';

const GAP = '   ';

/** Columns are as wide as the widest cell so far, so that later pages keep to those of the first as far as their cells fit. */
export class TableLayout {
  readonly #widths: number[];

  constructor(head: readonly string[]) {
    this.#widths = head.map(widthOf);
  }

  /** The lines of these rows, without trailing spaces. A cell may have several lines. */
  lines(rows: readonly (readonly string[])[]): string[] {
    const cells = rows.map((row) => row.map((cell) => visibleText(cell).split('\n')));
    for (const row of cells)
      for (const [column, texts] of row.entries())
        for (const text of texts) this.#widths[column] = Math.max(this.#widths[column] ?? 0, widthOf(text));
    return cells.flatMap((row) => this.#linesOf(row));
  }

  #linesOf(row: readonly (readonly string[])[]): string[] {
    const height = row.reduce((most, texts) => Math.max(most, texts.length), 1);
    return Array.from({ length: height }, (_, line) =>
      row
        .map((texts, column) => this.#padded(texts[line] ?? '', column))
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
