import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { createLogger } from '../base/log.ts';
import type { HistoryBounds, PruneProgress } from '../store/history-store.ts';
import { pruneHistory } from './prune-history.ts';

/** A history of 1,000 versions, none of which is old. */
class Watched {
  readonly calls: PruneProgress[] = [];
  bounds: HistoryBounds | undefined;
  fails = false;

  async pruneVersions(bounds: HistoryBounds, progress: PruneProgress): Promise<PruneProgress> {
    this.calls.push(progress);
    this.bounds = bounds;
    if (this.fails) throw new Error('the database does not answer');
    return { counted: Math.min(1_000, progress.counted + 500), aged: progress.aged };
  }
}

it('considers the whole history once, then what is new and the last minute before it, and tries again after an error', async () => {
  const [clock, store, stop] = [new ManualClock(), new Watched(), new AbortController()];
  const limits = { versions: 3, age: 60_000 };
  const running = pruneHistory({ store, clock, log: createLogger('silent'), limits }, stop.signal);
  const minute = async (): Promise<number[]> => {
    store.calls.length = 0;
    await clock.advance(60_000);
    await expect.poll(() => store.calls.length).toBeGreaterThan(0);
    return store.calls.map(({ counted }) => counted);
  };
  store.fails = true;
  expect(await minute()).toEqual([0]);
  store.fails = false;
  expect(await minute()).toEqual([0, 500, 1_000]);
  expect(store.bounds).toEqual({ versions: 3, replacedBefore: new Date(clock.now().getTime() - 60_000) });
  expect(await minute()).toEqual([0, 500, 1_000]);
  expect(await minute()).toEqual([1_000]);
  stop.abort();
  await clock.advance(60_000);
  await running;
});
