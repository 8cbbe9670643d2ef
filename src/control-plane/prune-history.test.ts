import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { createLogger } from '../base/log.ts';
import type { HistoryBounds, PruneProgress, Trimmed } from '../store/history-store.ts';
import { pruneHistory, type HistoryLimits } from './prune-history.ts';

/** A history of versions: none is old, and all are replaced. */
class Watched {
  readonly calls: PruneProgress[] = [];
  readonly trims: [after: number, most: number][] = [];
  counts = 0;
  bounds: HistoryBounds | undefined;
  fails = false;
  /** The largest id, the number of versions, and the id up to which no other version can appear. */
  last = 1_000;
  versions = 1_000;
  settled = Infinity;

  async pruneVersions(bounds: HistoryBounds, progress: PruneProgress): Promise<PruneProgress> {
    this.calls.push(progress);
    this.bounds = bounds;
    if (this.fails) throw new Error('the database does not answer');
    return { counted: Math.min(this.last, progress.counted + 500), aged: progress.aged };
  }

  async settledVersion(): Promise<number> {
    if (this.settled < this.last) throw new Error('a transaction is still open');
    return this.last;
  }

  async countVersions(): Promise<number> {
    this.counts += 1;
    return this.versions;
  }

  async trimVersions(after: number, most: number): Promise<Trimmed> {
    this.trims.push([after, most]);
    const removed = Math.min(most, 500, this.versions);
    this.versions -= removed;
    return { upTo: Math.min(this.last, after + 500), removed };
  }
}

const LIMITS = { versions: 3, age: 60_000, total: 100_000 };

async function leader(limits: HistoryLimits = LIMITS) {
  const [clock, store, stop] = [new ManualClock(), new Watched(), new AbortController()];
  const running = pruneHistory({ store, clock, log: createLogger('silent'), limits }, stop.signal);
  /** The ids from which versions were counted. */
  const minute = async (): Promise<number[]> => {
    store.calls.length = 0;
    store.trims.length = 0;
    await clock.advance(60_000);
    await expect.poll(() => store.calls.length).toBeGreaterThan(0);
    await clock.advance(0);
    return store.calls.map(({ counted }) => counted);
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await clock.advance(60_000);
    await running;
  };
  return { clock, store, minute, end };
}

it('considers the whole history once and then new versions, and retries after an error', async () => {
  const { clock, store, minute, end } = await leader();
  store.fails = true;
  expect(await minute()).toEqual([0]);
  store.fails = false;
  expect(await minute()).toEqual([0, 500, 1_000]);
  expect(store.bounds).toEqual({ versions: 3, replacedBefore: new Date(clock.now().getTime() - 60_000) });
  expect(await minute()).toEqual([1_000]);
  store.last = 1_200;
  expect(await minute()).toEqual([1_000, 1_200]);
  await end();
});

it('considers versions again while a transaction may commit an earlier one', async () => {
  const { store, minute, end } = await leader();
  await minute();
  store.last = 1_200;
  store.settled = 1_100;
  expect(await minute()).toEqual([1_000, 1_200]);
  store.settled = Infinity;
  expect(await minute()).toEqual([1_000, 1_200]);
  expect(await minute()).toEqual([1_200]);
  await end();
});

it('removes the oldest versions beyond the total, and counts the table only when it may have grown by a hundredth', async () => {
  const { store, minute, end } = await leader({ ...LIMITS, total: 10_000 });
  store.versions = 10_700;
  store.last = 20_000;
  await minute();
  expect(store.trims).toEqual([
    [0, 700],
    [500, 200],
  ]);
  expect({ counts: store.counts, versions: store.versions }).toEqual({ counts: 1, versions: 10_000 });
  store.last += 100;
  store.versions += 100;
  await minute();
  expect(store.counts).toBe(1);
  store.last += 1;
  store.versions += 1;
  await minute();
  expect({ counts: store.counts, versions: store.versions }).toEqual({ counts: 2, versions: 10_000 });
  await end();
});

it('stops at the end of a history whose versions cannot be removed', async () => {
  const { store, minute, end } = await leader({ ...LIMITS, total: 10 });
  store.trimVersions = async (after) => {
    store.trims.push([after, 0]);
    return { upTo: Math.min(store.last, after + 500), removed: 0 };
  };
  await minute();
  expect(store.trims.map(([after]) => after)).toEqual([0, 500, 1_000]);
  await end();
});
