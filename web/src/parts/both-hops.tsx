// The way of a change of this zone: to global, and from there to the other zones.
import type { JSX } from 'preact';
import { audience, OUTCOME_TONES, type Rollout } from '../receipts.ts';
import { counted, lasting } from '../words.ts';
import { Arrivals } from './arrivals.tsx';
import { StateMark } from './state-mark.tsx';

type Onward = NonNullable<Rollout['onward']>;

export function BothHops({ rollout }: { readonly rollout: Rollout }): JSX.Element {
  const { onward, onwardNote, outcome } = rollout;
  const why = onwardNote === undefined ? onward?.note : `It is not known which other zones have it: ${onwardNote}`;
  return (
    <>
      <div class="body">
        <ol class="hops" aria-label="The way of the change">
          <li>this zone</li>
          <li>
            <StateMark tone="ok" word="global" /> <span class="soft">{afterWords(rollout.slowestMs)}</span>
          </li>
          <li>
            {onward === undefined ? (
              <StateMark tone={outcome === 'waiting' ? 'late' : 'away'} word="other zones" />
            ) : (
              <OtherZones onward={onward} />
            )}
          </li>
        </ol>
        {why !== undefined && <p class="note gap">{onward === undefined ? why : `Global sends it to no other zone: ${why}`}</p>}
        {onward !== undefined && onward.targets.length > 0 && (
          <p class="soft gap">The times of the other zones count from the commit on global.</p>
        )}
        {onward?.omitted !== undefined && <p class="soft">{counted(onward.omitted, 'zone is', 'zones are')} not listed.</p>}
      </div>
      {onward !== undefined && onward.targets.length > 0 && (
        <Arrivals hop={onward} label="Other zones of the change" isLinked={false} />
      )}
    </>
  );
}

function OtherZones({ onward }: { readonly onward: Onward }): JSX.Element {
  const { counts, outcome, medianMs, slowestMs } = onward;
  const meant = audience(counts);
  if (meant === 0) return <StateMark tone="away" word="no other zone" />;
  const word = `${String(counts.acknowledged)} of ${counted(meant, 'other zone')}`;
  const times =
    medianMs === undefined || slowestMs === undefined ? '' : `median ${lasting(medianMs)}, slowest ${lasting(slowestMs)}`;
  return (
    <>
      <StateMark tone={OUTCOME_TONES[outcome]} word={word} /> <span class="soft">{times}</span>
    </>
  );
}

function afterWords(ms: number | undefined): string {
  return ms === undefined ? '' : `after ${lasting(ms)}`;
}
