// The last changes, the newest first; beside them the chosen one, with each zone.
import type { JSX } from 'preact';
import { ChangesChart } from '../parts/changes-chart.tsx';
import { Failure } from '../parts/failure.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { LongTable, type Column } from '../parts/long-table.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { ShareBar } from '../parts/share-bar.tsx';
import { RolloutCard } from '../parts/rollout-card.tsx';
import { useLive } from '../live.ts';
import { audience, isUnsettled, OUTCOME_TONES, subject, type ChangeSummary, type Rollout } from '../receipts.ts';
import { linkTo, query } from '../router.ts';
import { get } from '../session.ts';
import { asSentence, clockTime, counted, lasting } from '../words.ts';
import type { PageProps } from './page-list.tsx';

const SIZE = 1_000;

/** The list keeps its filter when another change is chosen. */
const filterNow = (): Record<string, string> => ({ q: query.value.get('q') ?? '' });

const COLUMNS: readonly Column<ChangeSummary>[] = [
  {
    title: 'Time',
    width: '102px',
    cell: ({ id, committedAt }) => <a href={linkTo(['changes', String(id)], filterNow())}>{clockTime(committedAt)}</a>,
  },
  {
    title: 'What',
    width: 'minmax(180px, 3fr)',
    cell: (change) => (
      <span title={subject(change)}>
        {change.isRemoval && 'removed: '}
        {subject(change)}
      </span>
    ),
  },
  { title: 'Outcome', width: '108px', cell: ({ outcome }) => <StateMark tone={OUTCOME_TONES[outcome]} word={outcome} /> },
  { title: 'Zones', width: '44px', cell: ({ counts }) => <ShareBar counts={counts} /> },
  {
    title: 'Have it',
    width: '64px',
    isNumber: true,
    cell: ({ counts }) => `${String(counts.acknowledged)}/${String(audience(counts))}`,
  },
  {
    title: 'Slowest',
    width: '64px',
    isNumber: true,
    cell: ({ slowestMs }) => (slowestMs === undefined ? '' : lasting(slowestMs)),
  },
];

export function ChangesPage({ parts: [, chosen] }: PageProps): JSX.Element {
  const { data, failure } = useLive('changes', ['changes'], loadChanges);
  const text = (query.value.get('q') ?? '').toLowerCase();
  const { items, note = 'Nothing was sent to others yet' } = data ?? { items: [] };
  const found = items.filter((change) => subject(change).toLowerCase().includes(text));
  const shown = chosen ?? (found[0] === undefined ? undefined : String(found[0].id));
  return (
    <>
      <div class="head">
        <h1>Changes</h1>
        <span class="soft">{data === undefined ? '' : `${counted(items.length, 'change')} since the start of this process`}</span>
        <div class="end">
          <FilterField label="Filter by type, mesh or name" />
        </div>
      </div>
      <Failure of={failure} />
      <div class="split even">
        <section class="card" aria-label="List of changes">
          <ChangesChart changes={found} />
          <LongTable
            label="Changes"
            rows={found}
            columns={COLUMNS}
            keyOf={({ id }) => String(id)}
            isChosen={({ id }) => String(id) === shown}
            none={data === undefined ? 'Loading' : items.length === 0 ? asSentence(note) : 'No change fits the filter'}
            height="66vh"
          />
        </section>
        {shown !== undefined && <ChosenChange id={shown} isNewest={chosen === undefined} />}
      </div>
    </>
  );
}

function ChosenChange({ id, isNewest }: { readonly id: string; readonly isNewest: boolean }): JSX.Element {
  const load = (signal: AbortSignal): Promise<Rollout> => get<Rollout>(`/_changes/${encodeURIComponent(id)}`, signal);
  const { data, failure } = useLive(`change ${id}`, ['changes'], load, { isUnsettled });
  return (
    <div>
      <Failure of={failure} />
      {data !== undefined && <RolloutCard rollout={data} title={isNewest ? 'The newest change' : `Change ${id}`} />}
    </div>
  );
}

/** @property note why nothing is sent */
type Changes = { readonly items: readonly ChangeSummary[]; readonly note?: string };

async function loadChanges(signal: AbortSignal): Promise<Changes> {
  return await get<Changes>(`/_changes?size=${String(SIZE)}`, signal);
}
