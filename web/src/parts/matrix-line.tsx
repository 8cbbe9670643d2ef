// A row of a matrix. Neighbours that are equal are one element: a line has few of them, however many columns there are.
import type { ComponentChildren, JSX } from 'preact';
import type { Tone } from './state-mark.tsx';

export const ROW_PX = 32;
/** Columns of the grid before those of the cells: the title of a row, and what stands beside it. */
export const SIDES = 2;

/** Without a tone: nothing is expected there. One with a glyph is an element of its own. */
export type MatrixCell = { readonly tone: Tone | null; readonly word: string; readonly glyph?: string };
export type MatrixRow = {
  readonly key: string;
  readonly name: string;
  /** `''`: there is no page of it. */
  readonly href: string;
  readonly note: ComponentChildren;
  readonly cells: readonly (MatrixCell | undefined)[];
};
export type Place = { readonly row: number; readonly column: number };

type LineProps = {
  readonly row: number;
  readonly content: MatrixRow | undefined;
  readonly columns: readonly string[];
  /** The most neighbours of one element. */
  readonly mostPerRun: number;
  /** The column of the cell with the focus; null in all other lines. */
  readonly chosen: number | null;
};

export function MatrixLine({ row, content, columns, mostPerRun, chosen }: LineProps): JSX.Element {
  // A row that is not known shows nothing in its cells. While one scrolls, most rows go before they are known.
  const runs = content === undefined && chosen === null ? [] : runsOf(content?.cells ?? [], columns.length, mostPerRun, chosen);
  return (
    <div class="line" role="row" aria-rowindex={row + 2} style={{ top: `${String(row * ROW_PX)}px` }}>
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
      {runs.map(({ first, count, cell }) => {
        const isAt = first === chosen;
        return (
          <div
            key={first}
            id={isAt ? idOf({ row, column: first }) : undefined}
            role="gridcell"
            class={`cell ${isAt ? 'at ' : ''}${cell === undefined ? 'unknown' : (cell.tone ?? 'hole')}${cell?.glyph === undefined ? '' : ' glyph'}`}
            aria-selected={isAt ? true : undefined}
            aria-colindex={first + 1 + SIDES}
            aria-colspan={count === 1 ? undefined : count}
            aria-label={`${nameOf(columns, first, count)}: ${cell?.word ?? 'loading'}`}
            style={count === 1 ? undefined : { width: `calc(${String(count)} * var(--cell))` }}
          >
            {cell?.glyph}
          </div>
        );
      })}
    </div>
  );
}

export function idOf({ row, column }: Place): string {
  return `cell-${String(row)}-${String(column)}`;
}

/** The place of the cell under the pointer; null beside the cells. */
export function placeAt({ target, offsetX }: MouseEvent): Place | null {
  const cell = target instanceof HTMLElement ? target.closest<HTMLElement>('.cell') : null;
  const line = cell?.parentElement;
  if (!cell || !line) return null;
  const count = Number(cell.getAttribute('aria-colspan') ?? 1);
  const inside = Math.max(0, Math.min(count - 1, Math.floor((offsetX / cell.offsetWidth) * count)));
  return {
    row: Number(line.getAttribute('aria-rowindex')) - 2,
    column: Number(cell.getAttribute('aria-colindex')) - 1 - SIDES + inside,
  };
}

type Run = { readonly first: number; count: number; readonly cell: MatrixCell | undefined };

/** The cell with the focus is a run of its own. */
function runsOf(cells: MatrixRow['cells'], columns: number, most: number, chosen: number | null): readonly Run[] {
  const runs: Run[] = [];
  for (let column = 0; column < columns; column += 1) {
    const cell = cells[column];
    const last = runs.at(-1);
    const isMore = last !== undefined && last.count < most && column !== chosen && last.first !== chosen;
    if (isMore && isSame(last.cell, cell)) last.count += 1;
    else runs.push({ first: column, count: 1, cell });
  }
  return runs;
}

function isSame(one: MatrixCell | undefined, other: MatrixCell | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.tone === other.tone && one.word === other.word && one.glyph === undefined && other.glyph === undefined;
}

function nameOf(columns: readonly string[], first: number, count: number): string {
  const name = columns[first] ?? '';
  return count === 1 ? name : `${name} to ${columns[first + count - 1] ?? ''}`;
}
