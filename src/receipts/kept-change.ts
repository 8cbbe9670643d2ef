// A change that is kept, with the answers of the peers to it.
import type { LoggedChange } from '../kds/log/changelog.ts';
import type { Marks, Tally } from './peer-marks.ts';

/** The changes of one resource that are kept, the oldest first. */
export type History = { readonly changes: Change[] };

export type Change = LoggedChange & {
  /** Its position in the log. One that is unchanged moves to the end of the log when other peers may see it. */
  position: number;
  /** Grows by one with each change of this process. */
  readonly id: number;
  /** Milliseconds since 1970, by the clock of this process, from which the times of peers count. */
  readonly at: number;
  readonly history: History;
  /** By index of the peer: time in a byte. Null for an old change in a large fleet. */
  times: Marks | null;
  /** Of an old change in a large fleet: the peers that have acknowledged it. */
  answers: Uint8Array | null;
  /** How many peers of this process have acknowledged it. No longer counted when the times are dropped. */
  readonly tally: Tally;
};
