// Resources × zones in few bytes: zones with the same state share a verdict. Pure.
import type { Answer } from '../answers/answers.ts';

type Explanation = Answer<'SyncExplanation'>;
type Row = Answer<'SyncMatrix'>['items'][number];
type Verdict = Row['verdicts'][number];

/** States whose reason is not that of the zone itself. */
const OWN_REASON = new Set(['pending', 'refused', 'withheld', 'unknown']);

/** @returns `runs`: pairs of the index of a verdict and the number of zones that share it, in the order of the targets */
export function matrixRow({ resource, storedName, kri, targets }: Explanation): Row {
  const known = new Map<string, number>();
  const verdicts: Verdict[] = [];
  const runs: number[] = [];
  let last = -1;
  for (const target of targets) {
    const verdict = verdictOf(target);
    const same = verdicts[last];
    let index = same !== undefined && isSame(verdict, same) ? last : known.get(JSON.stringify(verdict));
    if (index === undefined) {
      index = verdicts.push(verdict) - 1;
      known.set(JSON.stringify(verdict), index);
    }
    if (index === last) runs.push((runs.pop() ?? 0) + 1);
    else runs.push(index, 1);
    last = index;
  }
  return { resource, storedName, ...(kri !== undefined && { kri }), verdicts, runs };
}

/** Neighbours are the same most of the time: then nothing is printed. */
function isSame(one: Verdict, other: Verdict): boolean {
  return (
    one.isSent === other.isSent &&
    one.state === other.state &&
    one.name === other.name &&
    one.reason === other.reason &&
    one.needs === other.needs &&
    one.why === other.why
  );
}

function verdictOf({ isSent, name, reason, needs, problem, state }: Explanation['targets'][number]): Verdict {
  const why = problem?.message ?? (state !== undefined && OWN_REASON.has(state.kind) ? state.reason : '');
  return {
    ...{ isSent, name, reason },
    ...(needs !== undefined && { needs }),
    ...(state !== undefined && { state: state.kind }),
    ...(why !== '' && { why }),
  };
}
