// Which zones stand as columns: a filter by name, and as many as have room.
import type { JSX } from 'preact';
import { query, setQueries, setQuery } from '../router.ts';
import { CELL_PX, SIDE_PX } from './matrix.tsx';

const MIN_COLUMNS = 4;

export type ZoneColumns = { readonly names: readonly string[]; readonly first: number; readonly room: number };

/** How many columns have room. */
export function roomFor(width: number): number {
  return Math.max(MIN_COLUMNS, Math.floor((width - Math.min(SIDE_PX, width / 2) - 30) / CELL_PX));
}

/** The place of the first column in all zones that fit the filter. */
export function firstColumn(count: number, room: number): number {
  const from = Number(query.value.get('from') ?? 0);
  return Number.isInteger(from) && from > 0 && from < count ? from - (from % room) : 0;
}

type Props = { readonly total: number; readonly first: number; readonly shown: number; readonly room: number };

export function ColumnChooser({ total, first, shown, room }: Props): JSX.Element {
  const go = (from: number): void => setQuery('from', from <= 0 ? '' : String(from));
  return (
    <div class="columns" role="group" aria-label="Zones that are shown">
      <input
        type="search"
        aria-label="Filter zones"
        placeholder="Filter zones"
        value={query.value.get('zones') ?? ''}
        onInput={({ currentTarget }) => setQueries({ zones: currentTarget.value, from: '' })}
      />
      {total > shown && (
        <>
          <button type="button" aria-label="Zones before" disabled={first === 0} onClick={() => go(first - room)}>
            ‹
          </button>
          <button type="button" aria-label="Zones after" disabled={first + shown >= total} onClick={() => go(first + room)}>
            ›
          </button>
        </>
      )}
      <span class="soft" role="status">
        {total === 0
          ? 'no zone'
          : `${(first + 1).toLocaleString('en')}–${(first + shown).toLocaleString('en')} of ${total.toLocaleString('en')}`}
      </span>
    </div>
  );
}
