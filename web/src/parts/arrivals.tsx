// One hop of a change: a dot for each peer at its millisecond, and the same as a table, those without the change first.
import type { JSX } from 'preact';
import { STATE_TONES, STATE_WORDS, type Hop, type Target } from '../receipts.ts';
import { linkTo } from '../router.ts';
import { counted, lasting } from '../words.ts';
import { DotStrip } from './dot-strip.tsx';
import { LongTable, type Column } from './long-table.tsx';
import { StateMark, type Tone } from './state-mark.tsx';

const ms = (value: number | undefined): string => (value === undefined ? '' : lasting(value));

const COLUMNS: readonly Column<Target>[] = [
  { title: 'State', width: '116px', cell: ({ state }) => <StateMark tone={STATE_TONES[state]} word={STATE_WORDS[state]} /> },
  { title: 'Sent after', width: '74px', isNumber: true, cell: ({ sentMs }) => ms(sentMs) },
  { title: 'Had it after', width: '84px', isNumber: true, cell: ({ acknowledgedMs }) => ms(acknowledgedMs) },
  { title: 'Reason', width: 'minmax(100px, 3fr)', cell: ({ reason = '' }) => <span title={reason}>{reason}</span> },
];

const RANK: Readonly<Record<Tone, number>> = { bad: 0, late: 1, away: 2, ok: 3 };
/** Refusals that are shown in full above the dots. */
const MAX_REFUSALS = 5;

type Props = {
  readonly hop: Hop;
  /** What the table is called. */
  readonly label: string;
  /** Whether this control plane has pages of these zones. */
  readonly isLinked: boolean;
};

export function Arrivals({ hop: { counts, targets, slowestMs }, label, isLinked }: Props): JSX.Element {
  const rows = targets.toSorted((a, b) => rankOf(a) - rankOf(b));
  const refusals = targets.filter(({ state, reason }) => STATE_TONES[state] === 'bad' && reason !== undefined);
  const zone: Column<Target> = {
    title: 'Zone',
    width: 'minmax(90px, 1fr)',
    cell: ({ to }) => (isLinked && to !== 'global' ? <a href={linkTo(['zones', to])}>{to}</a> : to),
  };
  const times = slowestMs === undefined ? '' : `; the slowest after ${lasting(slowestMs)}`;
  return (
    <>
      <div class="body">
        {refusals.slice(0, MAX_REFUSALS).map(({ to, reason }) => (
          <p key={to} class="note failure">
            {to}: {reason}
          </p>
        ))}
        <DotStrip
          targets={targets}
          label={`${counted(counts.acknowledged, 'zone has it', 'zones have it')}${times}; the table has each`}
        />
      </div>
      <LongTable
        label={label}
        rows={rows}
        columns={[zone, ...COLUMNS]}
        keyOf={({ to }) => to}
        none="No zone gets it"
        height="44vh"
      />
    </>
  );
}

function rankOf({ state }: Target): number {
  return state === 'hidden' ? 4 : RANK[STATE_TONES[state]];
}
