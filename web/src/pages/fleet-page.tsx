// All zones: a map, the same as a table, and beside them what is not well.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { HeatMap } from '../parts/heat-map.tsx';
import { Failure } from '../parts/failure.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { LongTable, type Column } from '../parts/long-table.tsx';
import { Mark, StateMark } from '../parts/state-mark.tsx';
import { Problems } from '../parts/problems.tsx';
import { useLive } from '../live.ts';
import { linkTo, query, setQuery } from '../router.ts';
import { ago, counted, lasting } from '../words.ts';
import { loadZones, patchZones, sorted, statesOf, toneOf, wordOf, type Zone } from '../zones.ts';
import type { PageProps } from './page-list.tsx';

/** Beside the fleet. */
const MAX_PROBLEMS = 100;

const NONE: readonly Zone[] = [];

const COLUMNS: readonly Column<Zone>[] = [
  {
    title: 'Zone',
    width: 'minmax(110px, 1.2fr)',
    sort: 'name',
    cell: ({ name }) => <a href={linkTo(['zones', name])}>{name}</a>,
  },
  { title: 'State', width: '150px', sort: 'state', cell: (zone) => <StateMark tone={toneOf(zone)} word={wordOf(zone)} /> },
  { title: 'Since', width: '90px', sort: 'since', cell: ({ since }) => <span title={since ?? ''}>{ago(since)}</span> },
  { title: 'Behind', width: '80px', sort: 'lag', isNumber: true, cell: ({ lagMs }) => (lagMs === 0 ? '' : lasting(lagMs)) },
  { title: 'Version', width: '120px', sort: 'version', cell: ({ version }) => version },
  { title: 'Reason', width: 'minmax(160px, 3fr)', cell: ({ reason }) => <span title={reason}>{reason}</span> },
];

export function FleetPage({ control }: PageProps): JSX.Element {
  const { data: zones, failure } = useLive('zones', ['zones', 'lag'], loadZones, { patch: patchZones });
  const text = (query.value.get('q') ?? '').toLowerCase();
  const state = query.value.get('state') ?? '';
  const order = query.value.get('sort') ?? 'name';
  const all = zones ?? NONE;
  const found = useMemo(() => {
    if (text === '' && state === '') return all;
    return all.filter((zone) => zone.name.toLowerCase().includes(text) && (state === '' || wordOf(zone) === state));
  }, [all, text, state]);
  const rows = useMemo(() => sorted(found, order), [found, order]);
  return (
    <>
      <div class="head">
        <h1>{control.mode === 'global' ? 'Fleet' : `Zone ${control.zone ?? ''} and its global`}</h1>
        <span class="soft">{zones === undefined ? '' : counted(all.length, 'zone')}</span>
        <States zones={all} chosen={state} />
        <div class="end">
          <FilterField label="Filter zones" />
        </div>
      </div>
      <Failure of={failure} />
      <div class="split">
        <div class="stack">
          <section class="card" aria-label="Map of the zones">
            <HeatMap zones={found} />
          </section>
          <section class="card" aria-label="List of the zones">
            <LongTable
              label="Zones"
              rows={rows}
              columns={COLUMNS}
              keyOf={({ name }) => name}
              order={order}
              onOrder={(chosen) => setQuery('sort', chosen)}
              none={zones === undefined ? 'Loading' : all.length === 0 ? 'No zone has connected yet' : 'No zone fits the filter'}
            />
          </section>
        </div>
        <Problems max={MAX_PROBLEMS} />
      </div>
    </>
  );
}

/** How many zones are in each state; a press shows only those. */
function States({ zones, chosen }: { readonly zones: readonly Zone[]; readonly chosen: string }): JSX.Element {
  const states = useMemo(() => [...statesOf(zones)].sort(([a], [b]) => (a < b ? -1 : 1)), [zones]);
  return (
    <div class="counts" role="group" aria-label="States">
      {states.map(([word, { tone, count }]) => (
        <button
          key={word}
          type="button"
          aria-pressed={word === chosen}
          onClick={() => setQuery('state', word === chosen ? '' : word)}
        >
          <Mark tone={tone} />
          {count.toLocaleString('en')} {word}
        </button>
      ))}
    </div>
  );
}
