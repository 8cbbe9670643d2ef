// The pace at which the work for one peer shares the thread and the store with the work for others. A zone has one peer and needs
// no limits. A global divides the work of each zone (fair-scheduler.ts).
import { runSteps, type Steps } from '../../base/steps.ts';

export type Pace = {
  /** Runs steps to their end. Rejects with the error of a step. */
  readonly run: <T>(steps: Steps<T>) => Promise<T>;
  /** The number of rows that one statement may read, and one transaction may write. */
  readonly batchRows: number;
  /** The largest number of bytes of resources in one transaction. */
  readonly batchBytes: number;
  /** Resolves when a batch of this number of rows may begin. */
  readonly beforeBatch: (rows: number) => Promise<void>;
  /** Resolves when a message of this number of bytes may be decoded. Receiving it was work too. */
  readonly beforeMessage: (bytes: number) => Promise<void>;
};

/** Messages up to this size are decoded at once: most have about 100 bytes, and steps would cost more. */
export const SMALL_BYTES = 4 * 1024;

export const atOnce: Pace = {
  run: async (steps) => runSteps(steps),
  batchRows: Infinity,
  batchBytes: Infinity,
  beforeBatch: () => Promise.resolve(),
  beforeMessage: () => Promise.resolve(),
};

/** Divides a list into parts within the limits of a batch. A single item may be larger. */
export function batchesOf<T>(
  items: readonly T[],
  { batchRows, batchBytes }: Pick<Pace, 'batchRows' | 'batchBytes'>,
  bytesOf: (item: T) => number,
): T[][] {
  const batches: T[][] = [];
  let last: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOf(item);
    if (last.length > 0 && (last.length >= batchRows || bytes + size > batchBytes)) {
      batches.push(last);
      last = [];
      bytes = 0;
    }
    last.push(item);
    bytes += size;
  }
  if (last.length > 0) batches.push(last);
  return batches;
}
