// The work of many peers on one thread, in slices: one peer delays the others by one slice at most (src/base/fair-queue.ts). After a batch
// a peer rests as long as the process was busy.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { FairQueue } from '../../base/fair-queue.ts';
import type { Pace } from '../protocol/pace.ts';

/** The longest rest of a peer after a batch, in milliseconds, also in a busy process. */
const MAX_REST_MS = 50;
/** The largest number of rows and of bytes of one transaction, or of rows of one read. */
const BATCH_ROWS = 250;
const BATCH_BYTES = 1024 * 1024;

export class FairScheduler {
  readonly #queue = new FairQueue();

  /** The pace of one stream of a peer. */
  of(peer: string): Pace {
    let began = performance.eventLoopUtilization();
    let rows = 0;
    return {
      run: (steps) => this.#queue.run(peer, steps),
      batchRows: BATCH_ROWS,
      batchBytes: BATCH_BYTES,
      beforeMessage(bytes) {
        return this.beforeBatch(Math.floor((bytes / BATCH_BYTES) * BATCH_ROWS));
      },
      async beforeBatch(next) {
        // Small batches need no rest until their sum is as large as a large one.
        if (rows > 0 && rows + next > BATCH_ROWS) {
          await rest(began, longestRestMs(rows));
          rows = 0;
        }
        if (rows === 0) began = performance.eventLoopUtilization();
        rows += next;
      },
    };
  }
}

/** The longest rest after this number of rows, in milliseconds. A message may have the size of many batches. */
export function longestRestMs(rows: number): number {
  return MAX_REST_MS * Math.max(1, rows / BATCH_ROWS);
}

/**
 * Resolves when the event loop has been idle for as long as it was busy since `began`, at the latest after `mostMs`. The follow-up
 * work of the last batch, such as messages to all zones, then ends before the next batch.
 */
async function rest(began: ReturnType<typeof performance.eventLoopUtilization>, mostMs: number): Promise<void> {
  const until = performance.now() + mostMs;
  for (;;) {
    const { active, idle } = performance.eventLoopUtilization(began);
    const left = Math.min(active - idle, until - performance.now());
    if (left <= 0) return;
    await delay(left);
  }
}
