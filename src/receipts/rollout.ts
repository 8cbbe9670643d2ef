// A followed change as an answer: how many peers have it, how fast, and each peer with its state. Pure.
import type { Answer } from '../api/answers.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { Change } from './recent-changes.ts';
import type { Followed, Target } from './receipts.ts';

type Rollout = Answer<'Rollout'>;
type RolloutTarget = Rollout['targets'][number];

/**
 * `everywhere`: each peer that should have the change has acknowledged it. `refused`: a peer refused it, or cannot read it. `waiting`: the
 * answer of a connected peer is awaited, or unknown. `away`: all connected peers have it, and at least one is not connected.
 */
export type Outcome = Rollout['outcome'];

/** @param note why the resource is sent to no peer; null for one that is sent */
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

/** One change of a list, without its peers. */
export function changeSummary(change: Change, targets: readonly Target[]): Answer<'ChangeSummary'> {
  const { id, type, mesh, name } = change;
  return { id, type, name, ...(mesh !== '' && { mesh }), ...facts(change), ...summaryOf(targets) };
}

function facts({ version, isRemoval, at }: Change): Pick<Answer<'ChangeSummary'>, 'version' | 'isRemoval' | 'committedAt'> {
  return { version, isRemoval, committedAt: new Date(at).toISOString() };
}

type Summary = Pick<Rollout, 'outcome' | 'counts' | 'medianMs' | 'slowestMs'>;

function summaryOf(targets: readonly Target[]): Summary {
  const counts = { acknowledged: 0, refused: 0, withheld: 0, sent: 0, pending: 0, away: 0, unknown: 0, hidden: 0 };
  for (const { state } of targets) counts[state] += 1;
  const times = targets.flatMap(({ acknowledgedMs }) => (acknowledgedMs === null ? [] : [acknowledgedMs])).sort((a, b) => a - b);
  const medianMs = times[Math.floor((times.length - 1) / 2)];
  const slowestMs = times.at(-1);
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
