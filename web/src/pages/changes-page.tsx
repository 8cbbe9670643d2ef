// The last changes, the newest first; beside them the chosen one, with each zone.
import { changesOf } from '../concerns.ts';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LiveEvent } from '../events.ts';
import { ChangesChart } from '../parts/changes-chart.tsx';
import { Failure } from '../parts/failure.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { LongTable, type Column, type Range } from '../parts/long-table.tsx';
import { StateMark } from '../parts/state-mark.tsx';
import { ShareBar } from '../parts/share-bar.tsx';
import { RolloutCard } from '../parts/rollout-card.tsx';
import { useLive } from '../live.ts';
import { audience, isUnsettled, OUTCOME_TONES, subject, worse, type ChangeSummary, type Rollout } from '../receipts.ts';
import { linkTo, query } from '../router.ts';
import { useSecondHops, type SecondHop } from '../second-hops.ts';
import { get } from '../session.ts';
import { asSentence, clockTime, counted, lasting } from '../words.ts';
import type { PageProps } from './page-list.tsx';

const SIZE = 1_000;
/** Changes that are asked for again after an event; more are all of them. */
const MAX_PATCH = 100;

/** The list keeps its filter when another change is chosen. */
const filterNow = (): Record<string, string> => ({ q: query.value.get('q') ?? '' });

/** In a zone: `hop` is the way from global to the other zones, where it is known. */
type Row = { readonly change: ChangeSummary; readonly hop: SecondHop | undefined };

const ms = (value: number | undefined): string => (value === undefined ? '' : lasting(value));

const TIME: Column<Row> = {
  title: 'Time',
  width: '102px',
  cell: ({ change: { id, committedAt } }) => <a href={linkTo(['changes', String(id)], filterNow())}>{clockTime(committedAt)}</a>,
};
const WHAT: Column<Row> = {
  title: 'What',
  width: 'minmax(170px, 3fr)',
  cell: ({ change }) => (
    <span title={subject(change)}>
      {change.isRemoval && 'removed: '}
      {subject(change)}
    </span>
  ),
};
const OUTCOME: Column<Row> = {
  title: 'Outcome',
  width: '108px',
  cell: ({ change, hop }) => {
    const outcome = worse(change.outcome, hop?.onward?.outcome ?? 'everywhere');
    return <StateMark tone={OUTCOME_TONES[outcome]} word={outcome} />;
  },
};

const ON_GLOBAL: readonly Column<Row>[] = [
  TIME,
  WHAT,
  OUTCOME,
  { title: 'Zones', width: '44px', cell: ({ change: { counts } }) => <ShareBar counts={counts} /> },
  { title: 'Have it', width: '64px', isNumber: true, cell: ({ change: { counts } }) => shareOf(counts) },
  { title: 'Slowest', width: '64px', isNumber: true, cell: ({ change: { slowestMs } }) => ms(slowestMs) },
];

const IN_ZONE: readonly Column<Row>[] = [
  TIME,
  WHAT,
  OUTCOME,
  { title: 'On global', width: '66px', isNumber: true, cell: ({ change: { slowestMs } }) => ms(slowestMs) },
  { title: 'Others', width: '58px', isNumber: true, cell: ({ hop }) => <Others hop={hop} /> },
  { title: 'Slowest', width: '64px', isNumber: true, cell: ({ hop }) => ms(hop?.onward?.slowestMs) },
];

/** How many of the other zones have it. */
function Others({ hop }: { readonly hop: SecondHop | undefined }): JSX.Element | null {
  if (hop === undefined) return null;
  const { onward, onwardNote } = hop;
  if (onward === undefined) return <abbr title={onwardNote ?? ''}>?</abbr>;
  if (audience(onward.counts) === 0) return <span title={onward.note ?? 'global sends it to no other zone'}>–</span>;
  return <>{shareOf(onward.counts)}</>;
}

/** `3/4` */
function shareOf(counts: ChangeSummary['counts']): string {
  return `${counts.acknowledged.toLocaleString('en')}/${audience(counts).toLocaleString('en')}`;
}

const NOTHING: Changes = { items: [], next: null };

export function ChangesPage({ parts: [, chosen], control }: PageProps): JSX.Element {
  const { data, failure } = useLive('changes', ['changes'], loadChanges, { patch });
  const text = (query.value.get('q') ?? '').toLowerCase();
  const { items, note = 'Nothing was sent to others yet' } = data ?? NOTHING;
  const found = items.filter((change) => subject(change).toLowerCase().includes(text));
  const [range, setRange] = useState<Range>({ first: 0, end: 0 });
  const isZone = control.mode === 'zone';
  const hops = useSecondHops(isZone ? inSight(found, range) : []);
  const shown = chosen ?? (found[0] === undefined ? undefined : String(found[0].id));
  return (
    <>
      <div class="head">
        <h1>Changes</h1>
        <span class="soft">{data === undefined ? '' : keptWords(data)}</span>
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
            rows={found.map((change) => ({ change, hop: hops.get(change.id) }))}
            columns={isZone ? IN_ZONE : ON_GLOBAL}
            keyOf={({ change }) => String(change.id)}
            isChosen={({ change }) => String(change.id) === shown}
            onRange={setRange}
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
  const { data, failure } = useLive(`change ${id}`, ['changes'], load, {
    concerns: changesOf((change) => String(change.id) === id),
    isUnsettled,
  });
  return (
    <div>
      <Failure of={failure} />
      {data !== undefined && <RolloutCard rollout={data} title={isNewest ? 'The newest change' : `Change ${id}`} />}
    </div>
  );
}

/** @property next there are older ones @property note why nothing is sent */
type Changes = { readonly items: readonly ChangeSummary[]; readonly next: number | null; readonly note?: string };

async function loadChanges(signal: AbortSignal): Promise<Changes> {
  return await get<Changes>(`/_changes?size=${String(SIZE)}`, signal);
}

/** Asks again for the changes of the events alone. */
async function patch(data: Changes, events: readonly NonNullable<LiveEvent>[], signal: AbortSignal): Promise<Changes> {
  const ids = events.flatMap((event) => (event.topic === 'changes' ? event.data.items.map(({ id }) => id) : []));
  if (ids.length === 0) return data;
  const [oldest, newest] = [Math.min(...ids), Math.max(...ids)];
  const missing = newest - (data.items[0]?.id ?? 0);
  const size = newest - oldest + 1;
  if (missing > size || size > MAX_PATCH) return await loadChanges(signal);
  const { items } = await get<Changes>(`/_changes?size=${String(size)}&before=${String(newest + 1)}`, signal);
  const fresh = new Map(items.map((change) => [change.id, change]));
  const kept = data.items.filter(({ id }) => !fresh.has(id));
  const all = [...fresh.values(), ...kept].sort((a, b) => b.id - a.id);
  return { ...data, items: all.slice(0, SIZE) };
}

function keptWords({ items, next }: Changes): string {
  const words = `${counted(items.length, 'change')} since the start of this process`;
  return next === null ? words : `the last ${counted(items.length, 'change')}`;
}

/** In steps of ten rows: a scroll by one asks nothing. */
function inSight(changes: readonly ChangeSummary[], { first, end }: Range): number[] {
  const from = first - (first % 10);
  return changes.slice(from, Math.ceil(end / 10) * 10).map(({ id }) => id);
}
