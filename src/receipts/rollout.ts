// A followed change as an answer: the number of peers that have it, the delays, and each peer with its state. Pure.
import type { Answer } from '../answers/answers.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { Change } from './kept-change.ts';
import type { Followed, Target } from './receipts.ts';
import { noZones, type ZonesTally } from './tally-questions.ts';

type Rollout = Answer<'Rollout'>;
type RolloutTarget = Rollout['targets'][number];

/**
 * `everywhere`: each peer that should have the change has acknowledged it. `refused`: a peer refused it, or cannot read it. `waiting`: the
 * answer of a connected peer is awaited, or unknown. `away`: all connected peers have it, and at least one is not connected.
 */
export type Outcome = Rollout['outcome'];

/**
 * Makes the answer for a followed change.
 * @param note the reason why the resource is sent to no peer; null for one that is sent
 */
export function rolloutOf(key: ResourceKey, { change, targets }: Followed, note: string | null = null): Rollout {
  const { mesh, ...typeAndName } = key;
  return {
    ...typeAndName,
    ...(mesh !== '' && { mesh }),
    ...(change !== null && { change: change.id, ...facts(change) }),
    ...(note !== null && { note }),
    ...summaryOf(targets),
    targets: targets.map(targetOf),
  };
}

/** The known way from global to the other zones. `isAwaited` means that an answer was due and did not come. */
export type Onward = { readonly onward: OnwardRollout } | { readonly onwardNote: string; readonly isAwaited: boolean };
export type OnwardRollout = NonNullable<Rollout['onward']>;

/** The rollout of a zone with both hops. Its outcome is the worse of both. */
export function withOnward(rollout: Rollout, known: Onward): Rollout {
  if ('onward' in known) return { ...rollout, outcome: worse(rollout.outcome, known.onward.outcome), onward: known.onward };
  const { onwardNote, isAwaited } = known;
  return { ...rollout, outcome: isAwaited ? worse(rollout.outcome, 'waiting') : rollout.outcome, onwardNote };
}

/** The onward rollout of one of several changes, without the zones themselves. */
export type OnwardSummary = Omit<OnwardRollout, 'targets' | 'omitted'>;
export type OnwardOfMany = Pick<Answer<'OnwardSummary'>, 'onward' | 'onwardNote'>;

export function onwardSummary({ note, outcome, counts, medianMs, slowestMs }: OnwardSummary): OnwardSummary {
  return {
    ...(note !== undefined && { note }),
    ...{ outcome, counts },
    ...(medianMs !== undefined && { medianMs }),
    ...(slowestMs !== undefined && { slowestMs }),
  };
}

/** The summary of a resource of which global sends nothing. */
export function onwardNowhere(note: string): OnwardSummary {
  const counts = { acknowledged: 0, refused: 0, withheld: 0, sent: 0, pending: 0, away: 0, unknown: 0, hidden: 0 };
  return { note, outcome: 'everywhere', counts };
}

/** The rollout on global for the zone whose resource it is: without that zone and others that no rule sends it to. */
export function onwardOf({ targets, ...summary }: Rollout, most: number): OnwardRollout {
  return shortened({ ...onwardSummary(summary), targets: targets.filter(({ state }) => state !== 'hidden') }, most);
}

/** The rollout with at most this number of zones: first those that lack the change, then the slowest. */
export function shortened({ targets, omitted = 0, ...rest }: OnwardRollout, most: number): OnwardRollout {
  const msOf = ({ acknowledgedMs = Infinity }: RolloutTarget): number => acknowledgedMs;
  const lacksFirst = (a: RolloutTarget, b: RolloutTarget): number => {
    const [first, second] = [a, b].map(({ state }) => Number(state === 'acknowledged')) as [number, number];
    return first === second ? (msOf(a) === msOf(b) ? 0 : msOf(b) - msOf(a)) : first - second;
  };
  const listed = targets.length > most ? targets.toSorted(lacksFirst).slice(0, most) : targets;
  const left = omitted + targets.length - listed.length;
  return { ...rest, targets: listed, ...(left > 0 && { omitted: left }) };
}

/**
 * One change of a list, without its peers.
 * @param elsewhere the tally of peers that are connected to other replicas, and unknown here
 */
export function changeSummary(change: Change, targets: readonly Target[], elsewhere?: ZonesTally): Answer<'ChangeSummary'> {
  const { id, type, mesh, name } = change;
  return { id, type, name, ...(mesh !== '' && { mesh }), ...facts(change), ...summaryOf(targets, elsewhere) };
}

function facts({ version, isRemoval, at }: Change): Pick<Answer<'ChangeSummary'>, 'version' | 'isRemoval' | 'committedAt'> {
  return { version, isRemoval, committedAt: new Date(at).toISOString() };
}

const NOWHERE: ZonesTally = noZones();
const WORST_FIRST: readonly Outcome[] = ['refused', 'waiting', 'away', 'everywhere'];

function worse(a: Outcome, b: Outcome): Outcome {
  return WORST_FIRST.find((outcome) => outcome === a || outcome === b) ?? a;
}

type Summary = Pick<Rollout, 'outcome' | 'counts' | 'medianMs' | 'slowestMs'>;

function summaryOf(targets: readonly Target[], elsewhere: ZonesTally = NOWHERE): Summary {
  const counts = { acknowledged: 0, refused: 0, withheld: 0, sent: 0, pending: 0, away: 0, unknown: 0, hidden: 0 };
  for (const { state } of targets) counts[state] += 1;
  for (const answer of ['acknowledged', 'refused', 'withheld'] as const) {
    const answered = Math.min(elsewhere[answer], counts.unknown);
    counts[answer] += answered;
    counts.unknown -= answered;
  }
  const times = targets.flatMap(({ acknowledgedMs }) => (acknowledgedMs === null ? [] : [acknowledgedMs])).sort((a, b) => a - b);
  const medianMs = times[Math.floor((times.length - 1) / 2)];
  const slowestMs = elsewhere.acknowledged === 0 ? times.at(-1) : Math.max(elsewhere.slowestMs, times.at(-1) ?? 0);
  const outcome: Outcome =
    counts.refused + counts.withheld > 0
      ? 'refused'
      : counts.sent + counts.pending + counts.unknown > 0
        ? 'waiting'
        : counts.away > 0
          ? 'away'
          : 'everywhere';
  return { outcome, counts, ...(medianMs !== undefined && { medianMs }), ...(slowestMs !== undefined && { slowestMs }) };
}

function targetOf({ to, state, sentMs, acknowledgedMs, reason }: Target): RolloutTarget {
  return {
    ...{ to, state },
    ...(sentMs !== null && { sentMs }),
    ...(acknowledgedMs !== null && { acknowledgedMs }),
    ...(reason !== null && { reason }),
  };
}
