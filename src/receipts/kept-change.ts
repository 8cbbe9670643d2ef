// A change that is kept, with the answers of the peers to it.
import type { LoggedChange } from '../kds/log/changelog.ts';
import type { Marks, Tally } from './peer-marks.ts';

/** The changes of one resource that are kept, the oldest first. */
export type History = { readonly changes: Change[] };

export type Change = LoggedChange & {
  /** The position in the log. An unchanged resource moves to the end of the log when other peers may see it. */
  position: number;
  /** It grows by one with each change of this process. */
  readonly id: number;
  /** The milliseconds since 1970, by the clock of this process, from which the times of peers count. */
  readonly at: number;
  readonly history: History;
  /** The times in bytes, by index of the peer. It is null for an old change in a large fleet. */
  times: Marks | null;
  /** The peers that have acknowledged an old change in a large fleet. */
  answers: Uint8Array | null;
  /** The number of peers of this process that have acknowledged it. It is no longer counted when the times are dropped. */
  readonly tally: Tally;
};
