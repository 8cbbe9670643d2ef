// One change with the zones that should have it. In a zone this is the way to global, and from there to the other zones.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { placeOf, typeByName } from '../catalog.ts';
import { audience, OUTCOME_TONES, subject, type Rollout } from '../receipts.ts';
import { linkTo } from '../router.ts';
import { clockTime, lasting } from '../words.ts';
import { Arrivals } from './arrivals.tsx';
import { BothHops } from './both-hops.tsx';
import { StateMark } from './state-mark.tsx';

export function RolloutCard({ rollout, title }: { readonly rollout: Rollout; readonly title: string }): JSX.Element {
  const { outcome, committedAt, note, version, isRemoval, medianMs, slowestMs } = rollout;
  const hasBoth = rollout.onward !== undefined || rollout.onwardNote !== undefined;
  return (
    <section class="card" aria-label={title}>
      <div class="bar">
        <h2>{title}</h2>
        <StateMark tone={OUTCOME_TONES[outcome]} word={outcome} />
        <span class="soft end">{haveItWords(rollout)}</span>
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
          {!hasBoth && medianMs !== undefined && slowestMs !== undefined && (
            <>
              <dt>Median, slowest</dt>
              <dd>
                {lasting(medianMs)}, {lasting(slowestMs)}
              </dd>
            </>
          )}
        </dl>
        {note !== undefined && <p class="note gap">{note}</p>}
      </div>
      {hasBoth ? <BothHops rollout={rollout} /> : <Arrivals hop={rollout} label="Zones of the change" isLinked />}
    </section>
  );
}

/** Of both hops the second counts, where it is known. */
function haveItWords({ counts, onward, onwardNote }: Rollout): string {
  if (onwardNote !== undefined) return 'global has it';
  if (onward === undefined) return `${String(counts.acknowledged)} of ${String(audience(counts))} have it`;
  const meant = audience(onward.counts);
  return meant === 0 ? 'global has it' : `${String(onward.counts.acknowledged)} of ${String(meant)} other zones have it`;
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
