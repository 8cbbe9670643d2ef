// One change with each zone: dots at their milliseconds, and the same as a table, those without it first.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { placeOf, typeByName } from '../catalog.ts';
import { audience, OUTCOME_TONES, STATE_TONES, subject, type Rollout, type Target } from '../receipts.ts';
import { linkTo } from '../router.ts';
import { clockTime, lasting } from '../words.ts';
import { DotStrip } from './dot-strip.tsx';
import { LongTable, type Column } from './long-table.tsx';
import { StateMark, type Tone } from './state-mark.tsx';

const ms = (value: number | undefined): string => (value === undefined ? '' : lasting(value));

const COLUMNS: readonly Column<Target>[] = [
  {
    title: 'Zone',
    width: 'minmax(90px, 1fr)',
    cell: ({ to }) => (to === 'global' ? to : <a href={linkTo(['zones', to])}>{to}</a>),
  },
  { title: 'State', width: '124px', cell: ({ state }) => <StateMark tone={STATE_TONES[state]} word={state} /> },
  { title: 'Sent after', width: '74px', isNumber: true, cell: ({ sentMs }) => ms(sentMs) },
  { title: 'Had it after', width: '84px', isNumber: true, cell: ({ acknowledgedMs }) => ms(acknowledgedMs) },
  { title: 'Reason', width: 'minmax(80px, 2fr)', cell: ({ reason = '' }) => <span title={reason}>{reason}</span> },
];

const RANK: Readonly<Record<Tone, number>> = { bad: 0, late: 1, away: 2, ok: 3 };

export function RolloutCard({ rollout, title }: { readonly rollout: Rollout; readonly title: string }): JSX.Element {
  const { counts, targets, outcome, committedAt, note, version, isRemoval } = rollout;
  const rows = targets.toSorted((a, b) => rankOf(a) - rankOf(b));
  const refusals = targets.filter(({ state, reason }) => STATE_TONES[state] === 'bad' && reason !== undefined);
  return (
    <section class="card" aria-label={title}>
      <div class="bar">
        <h2>{title}</h2>
        <StateMark tone={OUTCOME_TONES[outcome]} word={outcome} />
        <span class="soft end">
          {String(counts.acknowledged)} of {String(audience(counts))} have it
        </span>
      </div>
      <div class="body">
        <dl class="facts">
          <dt>Resource</dt>
          <dd>
            <ResourceLink rollout={rollout} />
          </dd>
          {committedAt !== undefined && (
            <>
              <dt>{isRemoval === true ? 'Removed' : 'Written'}</dt>
              <dd>
                {clockTime(committedAt)}
                {version !== null && version !== undefined && `, version ${String(version)}`}
              </dd>
            </>
          )}
          {rollout.medianMs !== undefined && (
            <>
              <dt>Median, slowest</dt>
              <dd>
                {lasting(rollout.medianMs)}, {ms(rollout.slowestMs)}
              </dd>
            </>
          )}
        </dl>
        {note !== undefined && <p class="note gap">{note}</p>}
        {refusals.slice(0, 5).map(({ to, reason }) => (
          <p key={to} class="note failure gap">
            {to}: {reason}
          </p>
        ))}
      </div>
      <div class="body">
        <DotStrip
          targets={targets}
          label={`${String(counts.acknowledged)} zones have it; the slowest after ${ms(rollout.slowestMs)}; the table has each`}
        />
      </div>
      <LongTable
        label="Zones of the change"
        rows={rows}
        columns={COLUMNS}
        keyOf={({ to }) => to}
        none="No zone gets it"
        height="44vh"
      />
    </section>
  );
}

function rankOf({ state }: Target): number {
  return state === 'hidden' ? 4 : RANK[STATE_TONES[state]];
}

function ResourceLink({ rollout }: { readonly rollout: Rollout }): JSX.Element {
  const { type, mesh, name, isRemoval } = rollout;
  const [path, setPath] = useState<string | null>(null);
  useEffect(() => {
    typeByName(type).then(
      (info) => setPath(info?.path ?? null),
      () => setPath(null),
    );
  }, [type]);
  if (path === null || isRemoval === true) return <>{subject(rollout)}</>;
  return <a href={linkTo(placeOf(path, mesh, name))}>{subject(rollout)}</a>;
}
