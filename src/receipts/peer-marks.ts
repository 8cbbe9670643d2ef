// The marks that a change keeps of each peer, by the index of the peer: the times at which it was sent and acknowledged, each in
// a byte, or later only whether it was acknowledged, in a bit; and how many peers there are of each kind. Pure. Invariant: the
// counts are those of the bytes.
import { decodeDelay, NONE, SHORTEST } from './delay-codec.ts';

/** It stands in place of a time: the peer refused the change. */
export const REFUSED = 255;
/**
 * It stands in place of the time at which the change was sent: the peer may not have seen it when its position of the log was
 * sent, or passed.
 */
export const HIDDEN = 254;

const FIELDS = ['sent', 'acknowledged'] as const;
type Field = (typeof FIELDS)[number];

/**
 * The numbers of peers that were sent a change, and have acknowledged or refused it. `slowestMs` is the time from the commit to
 * the last acknowledgement.
 */
export type Tally = { sent: number; acknowledged: number; refused: number; slowestMs: number };

export type Marks = Readonly<Record<Field, Uint8Array>>;
/**
 * @property times null for an old change in a large fleet; its tally then stays as it is
 * @property answers the answers to such a change: a bit for each peer that has acknowledged it
 */
type Marked = { readonly times: Marks | null; readonly answers?: Uint8Array | null; readonly tally: Tally };

export function noTally(): Tally {
  return { sent: 0, acknowledged: 0, refused: 0, slowestMs: 0 };
}

/** Makes marks with room for this number of peers. @param known the marks of fewer peers */
export function marksFor(room: number, known?: Marks): Marks {
  const marks = { sent: new Uint8Array(room), acknowledged: new Uint8Array(room) };
  if (known !== undefined) for (const field of FIELDS) marks[field].set(known[field]);
  return marks;
}

/**
 * The answers of a change whose times are dropped, with room for this number of peers.
 * @param known the answers of fewer peers
 */
export function answersFor(room: number, known: Uint8Array = new Uint8Array()): Uint8Array {
  const answers = new Uint8Array(Math.ceil(room / 8));
  answers.set(known);
  return answers;
}

/** The answers that remain when the times are dropped. */
export function answersOf({ acknowledged }: Marks): Uint8Array {
  const answers = answersFor(acknowledged.length);
  for (const [index, byte] of acknowledged.entries()) if (decodeDelay(byte) !== null) setAnswer(answers, index, true);
  return answers;
}

export function hasAnswered({ answers = null }: Pick<Marked, 'answers'>, index: number): boolean {
  return (((answers?.[index >> 3] ?? 0) >> (index & 7)) & 1) === 1;
}

/** The answer of a peer: a time, `REFUSED` or `NONE`. The time is the shortest where it is no longer kept. */
export function answerOf(change: Marked, index: number): number {
  if (change.times !== null) return change.times.acknowledged[index] ?? NONE;
  return hasAnswered(change, index) ? SHORTEST : NONE;
}

/** Whether a change was sent to a peer that has not answered. False where the times are no longer kept. */
export function isUnanswered({ times }: Pick<Marked, 'times'>, index: number): boolean {
  const sent = times?.sent[index] ?? NONE;
  return sent !== NONE && sent !== HIDDEN && times?.acknowledged[index] === NONE;
}

/** Sets a mark of a peer. @returns whether the tally has changed */
export function mark(change: Marked, field: Field, index: number, byte: number): boolean {
  const { times, answers = null, tally } = change;
  if (times === null && answers !== null && field === 'acknowledged') setAnswer(answers, index, decodeDelay(byte) !== null);
  const bytes = times?.[field];
  const before = bytes?.[index] ?? NONE;
  if (bytes === undefined || before === byte) return false;
  bytes[index] = byte;
  const wasCounted = count(tally, field, before, -1);
  return count(tally, field, byte, 1) || wasCounted;
}

/** Removes the marks of a peer. @returns whether the tally has changed */
export function unmark(change: Marked, index: number): boolean {
  return FIELDS.map((field) => mark(change, field, index, NONE)).includes(true);
}

/** Adds the marks of a peer to a tally. */
export function addTo(tally: Tally, times: Marks | null, index: number): void {
  for (const field of FIELDS) count(tally, field, times?.[field][index] ?? NONE, 1);
}

function setAnswer(answers: Uint8Array, index: number, isSet: boolean): void {
  const bit = 1 << (index & 7);
  const byte = answers[index >> 3] ?? 0;
  answers[index >> 3] = isSet ? byte | bit : byte & ~bit;
}

function count(tally: Tally, field: Field, byte: number, by: 1 | -1): boolean {
  if (byte === NONE || byte === HIDDEN) return false;
  if (field === 'sent') tally.sent += by;
  else if (byte === REFUSED) tally.refused += by;
  else tally.acknowledged += by;
  if (field === 'acknowledged' && by === 1) tally.slowestMs = Math.max(tally.slowestMs, decodeDelay(byte) ?? 0);
  return true;
}
