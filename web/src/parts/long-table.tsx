// A table of any length: only the rows in sight are in the document. Its rows have one height.
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const ROW_PX = 34;
/** Rows above and below those in sight, so that a scroll shows no gap. */
const MARGIN = 8;

export type Column<Row> = {
  readonly title: string;
  /** Of the grid, such as `minmax(120px, 2fr)`. */
  readonly width: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Names the order by this column in the address; without it there is none. */
  readonly sort?: string;
  readonly isNumber?: boolean;
};

type Props<Row> = {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly isChosen?: (row: Row) => boolean;
  /** `name` or `-name`. */
  readonly order?: string;
  readonly onOrder?: (order: string) => void;
  readonly none: string;
  /** Of the part in sight, at most. */
  readonly height?: string;
  /** Rows in the document; called again with each change. */
  readonly onRange?: (range: Range) => void;
};

export type Range = { readonly first: number; readonly end: number };

export function LongTable<Row>({
  label,
  rows,
  columns,
  keyOf,
  isChosen,
  order,
  onOrder,
  none,
  height = '62vh',
  onRange,
}: Props<Row>): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  // A scroll inside of a row draws nothing.
  const [seen, setSeen] = useState<Range>({ first: 0, end: 24 });
  const shown = useRef(seen);
  const look = (): void => {
    const { scrollTop = 0, clientHeight = 0 } = frame.current ?? {};
    const range = { first: Math.floor(scrollTop / ROW_PX), end: Math.ceil((scrollTop + clientHeight) / ROW_PX) };
    if (range.first === shown.current.first && range.end === shown.current.end) return;
    shown.current = range;
    setSeen(range);
  };
  useLayoutEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    if (frame.current !== null) observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, seen.first - MARGIN);
  const end = Math.min(rows.length, seen.end + MARGIN);
  useLayoutEffect(() => onRange?.({ first, end }), [first, end]);
  const lines = useRef(new Map<string, { readonly of: readonly unknown[]; readonly line: JSX.Element }>());
  const drawn: typeof lines.current = new Map();
  /** The same element as before where nothing differs: then the line is not looked at again. */
  const lineOf = (row: Row, at: number): JSX.Element => {
    const key = keyOf(row);
    const isAt = isChosen?.(row) === true;
    const of = [row, at, isAt, columns];
    const known = lines.current.get(key);
    const kept = known?.of.every((one, index) => one === of[index]) === true ? known : undefined;
    const line = kept?.line ?? <Line key={key} row={row} at={at} isChosen={isAt} columns={columns} />;
    drawn.set(key, kept ?? { of, line });
    return line;
  };
  useLayoutEffect(() => {
    lines.current = drawn;
  });
  const all = (rows.length + 1) * ROW_PX;
  return (
    <div
      class="table"
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      tabIndex={0}
      ref={frame}
      onScroll={look}
      style={{ height: rows.length === 0 ? '120px' : `min(${height}, ${String(all)}px)` }}
    >
      <div class="row titles" role="row" aria-rowindex={1} style={gridOf(columns)}>
        {columns.map((column) => (
          <Title key={column.title} column={column} order={order} onOrder={onOrder} />
        ))}
      </div>
      {rows.length === 0 && (
        <div role="row">
          <p class="none" role="cell">
            {none}
          </p>
        </div>
      )}
      <div class="lines" role="rowgroup" style={{ height: `${String(rows.length * ROW_PX)}px` }}>
        {rows.slice(first, end).map((row, at) => lineOf(row, first + at))}
      </div>
    </div>
  );
}

type LineProps<Row> = {
  readonly row: Row;
  readonly at: number;
  readonly isChosen: boolean;
  readonly columns: readonly Column<Row>[];
};

function Line<Row>({ row, at, isChosen, columns }: LineProps<Row>): JSX.Element {
  return (
    <div
      class={isChosen ? 'row chosen' : 'row'}
      role="row"
      aria-rowindex={at + 2}
      style={{ ...gridOf(columns), top: `${String(at * ROW_PX)}px` }}
    >
      {columns.map(({ title, cell, isNumber }) => (
        <div key={title} role="cell" class={isNumber === true ? 'number' : undefined}>
          {cell(row)}
        </div>
      ))}
    </div>
  );
}

function gridOf<Row>(columns: readonly Column<Row>[]): { readonly gridTemplateColumns: string } {
  return { gridTemplateColumns: columns.map(({ width }) => width).join(' ') };
}

function Title<Row>({
  column: { title, sort, isNumber },
  order = '',
  onOrder,
}: {
  readonly column: Column<Row>;
  readonly order: string | undefined;
  readonly onOrder: ((order: string) => void) | undefined;
}): JSX.Element {
  const style = isNumber === true ? 'number' : undefined;
  if (sort === undefined || onOrder === undefined)
    return (
      <div role="columnheader" class={style}>
        {title}
      </div>
    );
  const direction = order === sort ? 'ascending' : order === `-${sort}` ? 'descending' : 'none';
  const mark = { ascending: ' ↑', descending: ' ↓', none: '' }[direction];
  return (
    <div role="columnheader" class={style} aria-sort={direction}>
      <button type="button" onClick={() => onOrder(order === sort ? `-${sort}` : sort)}>
        {title}
        {mark}
      </button>
    </div>
  );
}
