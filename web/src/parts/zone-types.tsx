// How far a zone is with each type: what it has not confirmed, since when, and its last confirmation.
import type { JSX } from 'preact';
import type { Answer } from '../../../src/answers/answers.ts';
import { useLive } from '../live.ts';
import { get } from '../session.ts';
import { clockTime, lasting } from '../words.ts';
import { Failure } from './failure.tsx';
import { LongTable, type Column } from './long-table.tsx';
import { StateMark } from './state-mark.tsx';

type Progress = Answer<'ZoneProgress'>;
type Row = NonNullable<Progress['types']>[number];

/** The control plane counts no further. */
const MAX_BEHIND = 1_000;

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Type', width: 'minmax(190px, 2fr)', cell: ({ type }) => type },
  { title: 'State', width: 'minmax(108px, 1fr)', cell: (row) => <State row={row} /> },
  {
    title: 'Behind',
    width: '56px',
    isNumber: true,
    cell: ({ behind }) => (behind === 0 ? '' : behind >= MAX_BEHIND ? `${MAX_BEHIND.toLocaleString('en')}+` : String(behind)),
  },
  { title: 'For', width: '48px', isNumber: true, cell: ({ oldestMs }) => (oldestMs === 0 ? '' : lasting(oldestMs)) },
  {
    title: 'Last confirmed',
    width: '104px',
    cell: ({ confirmedAt }) => (confirmedAt === null ? 'not yet' : clockTime(confirmedAt)),
  },
];

export function ZoneTypes({ zone }: { readonly zone: string }): JSX.Element {
  const { data, failure } = useLive(`progress ${zone}`, ['zones', 'lag', 'changes'], (signal) =>
    get<Progress>(`/zones/${encodeURIComponent(zone)}/_progress`, signal),
  );
  const types = data?.types ?? [];
  const rows = types.toSorted((a, b) => rankOf(a) - rankOf(b) || (a.type < b.type ? -1 : 1));
  const none = data === undefined ? 'Loading' : 'The zone has no stream to this control plane now';
  return (
    <section class="card" aria-label="Types">
      <div class="bar">
        <h2>Types</h2>
        {typeof data?.instanceId === 'string' && <span class="soft end">sent by {data.instanceId}</span>}
      </div>
      <Failure of={failure} />
      <LongTable label="Types" rows={rows} columns={COLUMNS} keyOf={({ type }) => type} none={none} height="70vh" />
    </section>
  );
}

function State({ row }: { readonly row: Row }): JSX.Element {
  const { refused, withheld, behind } = row;
  if (refused + withheld > 0) return <StateMark tone="bad" word={refusalWords(row)} />;
  return behind > 0 ? <StateMark tone="late" word="behind" /> : <StateMark tone="ok" word="in step" />;
}

/** `refuses 3, cannot read 1` */
function refusalWords({ refused, withheld }: Row): string {
  const words = [refused === 0 ? '' : `refuses ${String(refused)}`, withheld === 0 ? '' : `cannot read ${String(withheld)}`];
  return words.filter((part) => part !== '').join(', ');
}

function rankOf({ refused, withheld, behind }: Row): number {
  return refused + withheld > 0 ? 0 : behind > 0 ? 1 : 2;
}
