// The sync problems of a zone, for people: the resources that a peer refuses or cannot read, and the reasons. ZoneInsight has no
// field for them, so they are stored in the status of the row, which Kuma leaves empty (kds-wire 7). Pure.
import { namedResources, type NamedResources } from '../kds/protocol/refusal-report.ts';
import type { SyncEvent } from '../kds/protocol/sync-events.ts';
import { storablePart } from '../resource/storable-text.ts';
import type { JsonObject } from '../resource/types.ts';

export type SyncProblem = {
  /** `globalToZone` or `zoneToGlobal`: the direction of the resources. */
  readonly stream: string;
  readonly type: string;
  /**
   * `refused` by the receiver, `withheld` by the sender. `suspected`: the receiver refused a response without a name; at least
   * one of these is the culprit.
   */
  readonly kind: 'refused' | 'suspected' | 'withheld';
  /** The first ten wire names; empty if it is every resource of the type. */
  readonly resources: readonly string[];
  /** The number of resources. */
  readonly count: number;
  readonly message: string;
  readonly time: Date;
};

/** There is one problem per stream, type and kind. */
export type SyncProblems = readonly SyncProblem[];

const MAX_MESSAGE = 2_000;
const MAX_NAME = 400;
const EVERY_RESOURCE = { count: 0, first: [] };

/**
 * Turns a NACK, a refused or a withheld resource into a problem, and removes solved problems. The sender is on one stream and the
 * receiver on the other.
 * @param known is null before the first stream
 */
export function foldProblems(
  known: SyncProblems | null,
  event: SyncEvent,
  mode: 'global' | 'zone',
  now: Date,
): SyncProblems | null {
  const [sending, receiving] = mode === 'global' ? ['globalToZone', 'zoneToGlobal'] : ['zoneToGlobal', 'globalToZone'];
  if (known === null && event.kind !== 'opened') return null;
  const problems = known ?? [];
  switch (event.kind) {
    case 'opened':
      return dropStream(problems, event.stream);
    case 'resubscribed':
      return dropStream(problems, sending, event.type);
    case 'refused': {
      const { type, refused, suspects } = event;
      const known = setNamed(problems, { stream: sending, type, kind: 'refused' }, refused, now);
      return setNamed(known, { stream: sending, type, kind: 'suspected' }, suspects, now);
    }
    case 'withheld': {
      const at = { stream: sending, type: event.type, kind: 'withheld' } as const;
      if (event.all !== null) return setProblem(problems, at, describeProblem(at, EVERY_RESOURCE, event.all, now));
      return setNamed(problems, at, namedResources(event.resources), now);
    }
    case 'received':
      return setNamed(problems, { stream: receiving, type: event.type, kind: 'refused' }, event.refused, now);
    default:
      return known;
  }
}

export function describeProblem(
  { stream, type, kind }: Pick<SyncProblem, 'stream' | 'type' | 'kind'>,
  { count, first }: Pick<NamedResources, 'count' | 'first'>,
  message: string,
  time: Date,
): SyncProblem {
  // Names and text come from the peer.
  const resources = first.map((name) => storablePart(name, MAX_NAME));
  return { stream, type, kind, resources, count, message: storablePart(message, MAX_MESSAGE), time };
}

/** The list with this problem in place of the previous one; null removes that. It is the same list without a change. */
function setProblem(
  problems: SyncProblems,
  { stream, type, kind }: Pick<SyncProblem, 'stream' | 'type' | 'kind'>,
  problem: SyncProblem | null,
): SyncProblems {
  const others = problems.filter((one) => one.stream !== stream || one.type !== type || one.kind !== kind);
  if (problem !== null) return [...others, problem];
  return others.length === problems.length ? problems : others;
}

/** Replaces the problem of some resources, with the reason of the first. */
function setNamed(
  problems: SyncProblems,
  at: Pick<SyncProblem, 'stream' | 'type' | 'kind'>,
  named: NamedResources,
  time: Date,
): SyncProblems {
  const problem = named.reason === null ? null : describeProblem(at, named, named.reason, time);
  return setProblem(problems, at, problem);
}

/** Removes the problems of a stream, or of one type on it: a new stream tries everything again, and a new subscription its type. */
function dropStream(problems: SyncProblems, stream: string, type?: string): SyncProblems {
  const left = problems.filter((one) => one.stream !== stream || (type !== undefined && one.type !== type));
  return left.length === problems.length ? problems : left;
}

/** The status of a ZoneInsight row: `{}` while everything works. */
export function renderProblems(problems: SyncProblems): JsonObject {
  if (problems.length === 0) return {};
  return {
    syncProblems: problems.map(({ resources, time, ...rest }) => ({
      ...rest,
      resources: [...resources],
      time: time.toISOString(),
    })),
  };
}
