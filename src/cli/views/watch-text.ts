// The rows of a watch as a table that grows. Rows of later events keep the columns of the first ones, and their widths while the cells fit.
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Row } from '../client/watched-rows.ts';
import { columnsOf } from './columns.ts';
import { neededColumns, TableLayout } from './table.ts';

/** @returns the lines for the next rows; the first ones begin with the head */
export function watchTable(info: TypeInfo, { wide }: { readonly wide: boolean }): (rows: readonly Row[]) => string[] {
  let columns: { head: string; of: (row: Row) => string }[] | null = null;
  let layout = new TableLayout([]);
  return (rows) => {
    const isFirst = columns === null;
    if (columns === null) {
      const needed = neededColumns(
        columnsOf(info, { wide }),
        rows.map(({ item }) => item),
      );
      columns = [
        { head: 'EVENT', of: ({ event }) => event },
        ...needed.map(({ head, of }) => ({ head, of: ({ item }: Row) => of(item) })),
      ];
      layout = new TableLayout(columns.map(({ head }) => (head === 'EVENT' ? 'existing' : head)));
    }
    const shown = columns;
    const cells = rows.map((row) => shown.map(({ of }) => of(row)));
    return layout.lines(isFirst ? [shown.map(({ head }) => head), ...cells] : cells);
  };
}
