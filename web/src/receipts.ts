// Where a change is, in words and tones.
import type { Answer } from '../../src/answers/answers.ts';
import type { Tone } from './parts/state-mark.tsx';

export type Rollout = Answer<'Rollout'>;
export type ChangeSummary = Answer<'ChangeSummary'>;
export type Target = Rollout['targets'][number];
/** From one place to its peers: of a zone to global, or of global to the zones. */
export type Hop = Pick<Rollout, 'outcome' | 'counts' | 'medianMs' | 'slowestMs' | 'targets'>;
type State = Target['state'];

export const STATE_TONES: Readonly<Record<State, Tone>> = {
  acknowledged: 'ok',
  sent: 'late',
  pending: 'late',
  unknown: 'late',
  refused: 'bad',
  withheld: 'bad',
  away: 'away',
  hidden: 'away',
};

/** As for a resource in a zone. */
export const STATE_WORDS: Readonly<Record<State, string>> = {
  acknowledged: 'has it',
  sent: 'sent',
  pending: 'waiting',
  unknown: 'unknown',
  refused: 'refuses it',
  withheld: 'cannot read it',
  away: 'away',
  hidden: 'not sent',
};

const WORST_FIRST: readonly Rollout['outcome'][] = ['refused', 'waiting', 'away', 'everywhere'];

/** Of both hops of a change. */
export function worse(a: Rollout['outcome'], b: Rollout['outcome']): Rollout['outcome'] {
  return WORST_FIRST.find((outcome) => outcome === a || outcome === b) ?? a;
}

export const OUTCOME_TONES: Readonly<Record<Rollout['outcome'], Tone>> = {
  everywhere: 'ok',
  waiting: 'late',
  refused: 'bad',
  away: 'away',
};

/** States in which a peer should have the change: all but hidden ones. */
export function audience(counts: Rollout['counts']): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0) - counts.hidden;
}

/** `MeshTimeout shop/slow` */
export function subject({ type, mesh, name }: Pick<ChangeSummary, 'type' | 'mesh' | 'name'>): string {
  return `${type} ${mesh === undefined ? '' : `${mesh}/`}${name}`;
}

export function verb({ isRemoval }: Pick<ChangeSummary, 'isRemoval'>): string {
  return isRemoval ? 'removed' : 'written';
}

/** In a zone: the other zones are followed by global, whose answers cause no events here. */
export function isUnsettled({ outcome, onward, onwardNote }: Rollout): boolean {
  if (onward !== undefined) return onward.outcome !== 'everywhere';
  return onwardNote !== undefined && outcome === 'waiting';
}
