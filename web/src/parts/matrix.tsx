// Rows × zones, of any number of rows: only those in sight are in the document. One cell has the focus, the arrow keys move it, and what it
// means stands in words below.
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { idOf, MatrixLine, placeAt, ROW_PX, SIDES, type MatrixRow, type Place } from './matrix-line.tsx';

/** The names of the zones above the columns: a few stand as usual, many stand upright. */
const HEAD_PX = { few: 34, many: 112 };
const FEW = 8;
/** Rows above and below those in sight. */
const MARGIN = 4;
export const CELL_PX = 30;
const WIDE_CELL_PX = 110;
/** Of the title of a row and of what stands beside it, and left and right of each line: as in matrix.css. */
const WIDTHS = ['var(--name)', 'var(--note)'] as const;
const PADDING = '28px';
/** The title of a row, and what stands beside it. */
export const SIDE_PX = 540;

export type Range = { readonly first: number; readonly end: number };
/** Until the height of the matrix is known. */
export const FIRST_IN_SIGHT: Range = { first: 0, end: 20 };

type Props = {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rowCount: number;
  /** Undefined while the row is not known; the same object as long as nothing of it differs. */
  readonly rowAt: (row: number) => MatrixRow | undefined;
  /** Rows in sight; called again with each change. */
  readonly onRows?: (range: Range) => void;
  /** What a cell means, in words. */
  readonly detailOf: (row: number, column: number) => ComponentChildren;
  readonly none: string;
  /** Above what stands beside the names. */
  readonly noteTitle: string;
};

const STEPS: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  PageDown: [10, 0],
  PageUp: [-10, 0],
  Home: [0, -1e6],
  End: [0, 1e6],
};

export function Matrix({ label, columns, rowCount, rowAt, onRows, detailOf, none, noteTitle }: Props): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<Range>(FIRST_IN_SIGHT);
  const [place, setPlace] = useState<Place>({ row: 0, column: 0 });
  const look = (): void => {
    const { scrollTop = 0, clientHeight = 0 } = frame.current ?? {};
    const first = Math.max(0, Math.floor(scrollTop / ROW_PX) - MARGIN);
    const end = Math.min(rowCount, Math.ceil((scrollTop + clientHeight) / ROW_PX) + MARGIN);
    if (first === range.first && end === range.end) return;
    setRange({ first, end });
    onRows?.({ first, end });
  };
  const latestLook = useRef(look);
  useLayoutEffect(() => {
    latestLook.current = look;
  });
  useLayoutEffect(look, [rowCount]);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => latestLook.current());
    if (frame.current !== null) observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  const isFew = columns.length <= FEW;
  // A person can listen to each of a few cells.
  const mostPerRun = isFew ? 1 : Infinity;
  const head = isFew ? HEAD_PX.few : HEAD_PX.many;
  const cell = isFew ? `min(${String(WIDE_CELL_PX)}px, 18vw)` : `${String(CELL_PX)}px`;
  const grid = useMemo(
    () => ({
      gridTemplateColumns: `${WIDTHS.join(' ')} repeat(${String(columns.length)}, ${cell})`,
      minWidth: `calc(${WIDTHS.join(' + ')} + ${String(columns.length)} * ${cell} + ${PADDING})`,
    }),
    [columns.length, cell],
  );
  const lines = useRef(new Map<number, { readonly of: readonly unknown[]; readonly line: JSX.Element }>());
  /** The same element as before where nothing differs: then the line is not looked at again. */
  const lineOf = (row: number): JSX.Element => {
    const content = rowAt(row);
    const column = row === at.row ? at.column : null;
    const of = [content, columns, column];
    const known = lines.current.get(row);
    if (known !== undefined && of.every((one, index) => one === known.of[index])) return known.line;
    const line = <MatrixLine key={row} row={row} content={content} columns={columns} mostPerRun={mostPerRun} chosen={column} />;
    lines.current.set(row, { of, line });
    return line;
  };
  const at = { row: Math.min(place.row, rowCount - 1), column: Math.min(place.column, columns.length - 1) };
  const choose = (event: MouseEvent): void => {
    const chosen = placeAt(event);
    if (chosen !== null) setPlace(chosen);
  };
  const move = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const row = within(at.row + step[0], rowCount);
    setPlace({ row, column: within(at.column + step[1], columns.length) });
    bringInSight(frame.current, row, head);
  };
  for (const row of lines.current.keys()) if (row < range.first || row >= range.end) lines.current.delete(row);
  const shown = Array.from({ length: Math.max(0, range.end - range.first) }, (_, index) => range.first + index);
  return (
    <>
      <div
        ref={frame}
        class="matrix"
        role="grid"
        aria-label={label}
        aria-rowcount={rowCount + 1}
        aria-colcount={columns.length + SIDES}
        aria-activedescendant={rowCount === 0 ? undefined : idOf(at)}
        tabIndex={0}
        onScroll={look}
        onKeyDown={move}
        style={{ '--cell': cell, height: `min(62vh, ${String(head + Math.max(2, rowCount) * ROW_PX)}px)` }}
      >
        <div
          class={isFew ? 'titles' : 'titles upright'}
          role="row"
          aria-rowindex={1}
          style={{ ...grid, height: `${String(head)}px` }}
        >
          <div role="columnheader">Name</div>
          <div role="columnheader">{noteTitle}</div>
          {columns.map((zone) => (
            <div key={zone} class="zone" role="columnheader" title={zone}>
              <span>{zone}</span>
            </div>
          ))}
        </div>
        <div
          class="lines"
          role="rowgroup"
          style={{ height: `${String(rowCount * ROW_PX)}px`, minWidth: grid.minWidth }}
          onClick={choose}
          onMouseMove={mark}
        >
          {shown.map(lineOf)}
        </div>
      </div>
      <div class="detail" role="status">
        {rowCount === 0 ? <p class="soft">{none}</p> : detailOf(at.row, at.column)}
      </div>
    </>
  );
}

/** Marks the cell under the pointer, which is a part of an element. */
function mark(event: MouseEvent): void {
  const line = event.target instanceof Element ? event.target.closest<HTMLElement>('.line') : null;
  const column = placeAt(event)?.column;
  if (column === undefined) line?.style.removeProperty('--under');
  else line?.style.setProperty('--under', String(column));
}

function within(at: number, count: number): number {
  return Math.max(0, Math.min(count - 1, at));
}

/** The titles stay above the rows. */
function bringInSight(frame: HTMLElement | null, row: number, head: number): void {
  if (frame === null) return;
  const room = frame.clientHeight - head;
  const top = row * ROW_PX;
  if (top < frame.scrollTop) frame.scrollTop = top;
  else if (top + ROW_PX > frame.scrollTop + room) frame.scrollTop = top + ROW_PX - room;
}
