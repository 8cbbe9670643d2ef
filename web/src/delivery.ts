// What a zone has of a resource, in words and tones.
import type { Answer } from '../../src/answers/answers.ts';
import type { Tone } from './parts/state-mark.tsx';

type Target = Answer<'SyncExplanation'>['targets'][number];
export type DeliveryKind = NonNullable<Target['state']>['kind'];

const TONES: Readonly<Record<DeliveryKind, Tone>> = {
  inSync: 'ok',
  pending: 'late',
  unknown: 'late',
  refused: 'bad',
  withheld: 'bad',
  away: 'away',
  turnedAway: 'bad',
};

const WORDS: Readonly<Record<DeliveryKind, string>> = {
  inSync: 'has it',
  pending: 'unconfirmed',
  unknown: 'unknown',
  refused: 'refuses it',
  withheld: 'cannot read it',
  away: 'away',
  turnedAway: 'turned away',
};

/** @param kind undefined where nothing tells */
export function deliveryMark(
  isSent: boolean,
  kind: DeliveryKind | undefined,
): { readonly tone: Tone | null; readonly word: string } {
  if (!isSent) return { tone: null, word: 'not sent' };
  return kind === undefined ? { tone: 'late', word: 'unknown' } : { tone: TONES[kind], word: WORDS[kind] };
}
