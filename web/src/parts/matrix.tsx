// Rows × zones, of any number of rows: only those in sight are in the document. One cell has the focus, the arrow keys move it, and what it
// means stands in words below.
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Tone } from './state-mark.tsx';

const ROW_PX = 32;
/** The names of the zones above the columns: a few stand as usual, many stand upright. */
const HEAD_PX = { few: 34, many: 112 };
const FEW = 8;
/** Rows above and below those in sight. */
const MARGIN = 4;
export const CELL_PX = 30;
const WIDE_CELL_PX = 110;
/** The title of a row, and what stands beside it, also where there is little room. Each has one width: a line needs no look at its content. */
const SIDES = ['max(110px, min(300px, 30vw))', 'max(110px, min(240px, 24vw))'] as const;
/** Left and right of each line. */
const PADDING = '28px';
/** The title of a row, and what stands beside it. */
export const SIDE_PX = 540;

/** Without a tone: nothing is expected there. */
export type MatrixCell = { readonly tone: Tone | null; readonly word: string; readonly glyph?: string };
export type MatrixRow = {
  readonly key: string;
  readonly name: string;
  /** `''`: there is no page of it. */
  readonly href: string;
  readonly note: ComponentChildren;
  readonly cells: readonly (MatrixCell | undefined)[];
};
type Place = { readonly row: number; readonly column: number };
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
  useLayoutEffect(look, [rowCount]);
  const isFew = columns.length <= FEW;
  const head = isFew ? HEAD_PX.few : HEAD_PX.many;
  const cell = isFew ? `min(${String(WIDE_CELL_PX)}px, 18vw)` : `${String(CELL_PX)}px`;
  const grid = useMemo(
    () => ({
      gridTemplateColumns: `${SIDES.join(' ')} repeat(${String(columns.length)}, ${cell})`,
      minWidth: `calc(${SIDES.join(' + ')} + ${String(columns.length)} * ${cell} + ${PADDING})`,
    }),
    [columns.length, cell],
  );
  const lines = useRef(new Map<number, { readonly of: readonly unknown[]; readonly line: JSX.Element }>());
  /** The same element as before where nothing differs: then the line is not looked at again. */
  const lineOf = (row: number): JSX.Element => {
    const content = rowAt(row);
    const column = row === at.row ? at.column : null;
    const of = [content, columns, grid, column];
    const known = lines.current.get(row);
    if (known !== undefined && of.every((one, index) => one === known.of[index])) return known.line;
    const line = <Line key={row} row={row} content={content} columns={columns} grid={grid} chosen={column} />;
    lines.current.set(row, { of, line });
    return line;
  };
  const at = { row: Math.min(place.row, rowCount - 1), column: Math.min(place.column, columns.length - 1) };
  const choose = ({ target }: MouseEvent): void => {
    const chosen = target instanceof Element ? placeOf(target) : null;
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
        aria-colcount={columns.length + 2}
        aria-activedescendant={rowCount === 0 ? undefined : idOf(at)}
        tabIndex={0}
        onScroll={look}
        onKeyDown={move}
        style={{ height: `min(62vh, ${String(head + Math.max(2, rowCount) * ROW_PX)}px)` }}
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

const NO_CELLS: readonly string[] = [];

type LineProps = {
  readonly row: number;
  readonly content: MatrixRow | undefined;
  readonly columns: readonly string[];
  readonly grid: { readonly gridTemplateColumns: string; readonly minWidth: string };
  /** The column of the cell with the focus; null in all other lines. */
  readonly chosen: number | null;
};

function Line({ row, content, columns, grid, chosen }: LineProps): JSX.Element {
  // A row that is not known shows nothing in its cells. While one scrolls, most rows go before they are known.
  const shown = content === undefined && chosen === null ? NO_CELLS : columns;
  return (
    <div class="line" role="row" aria-rowindex={row + 2} style={{ ...grid, top: `${String(row * ROW_PX)}px` }}>
      <div role="rowheader" class="name">
        {content === undefined ? (
          <span class="soft">…</span>
        ) : content.href === '' ? (
          content.name
        ) : (
          <a href={content.href} title={content.name}>
            {content.name}
          </a>
        )}
      </div>
      <div role="gridcell" class="note-cell">
        {content?.note}
      </div>
      {shown.map((zone, column) => {
        const cell = content?.cells[column];
        const isAt = chosen === column;
        return (
          <div
            key={zone}
            id={isAt ? idOf({ row, column }) : undefined}
            role="gridcell"
            class={`cell ${isAt ? 'at ' : ''}${cell?.tone ?? 'hole'}`}
            aria-selected={isAt ? true : undefined}
            aria-label={`${zone}: ${cell?.word ?? 'loading'}`}
          >
            {cell?.tone === null ? (cell.glyph ?? '–') : ''}
          </div>
        );
      })}
    </div>
  );
}

function idOf({ row, column }: Place): string {
  return `cell-${String(row)}-${String(column)}`;
}

/** The place of the cell of an element; null beside the cells. */
function placeOf(element: Element): Place | null {
  const cell = element.closest('.cell');
  const line = cell?.parentElement;
  if (!cell || !line) return null;
  const row = Number(line.getAttribute('aria-rowindex')) - 2;
  return { row, column: [...line.children].indexOf(cell) - SIDES.length };
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
