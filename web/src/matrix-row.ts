// A row of a matrix of resources and zones, as the page keeps it: zones in a row with one verdict are one entry.
import type { Answer } from '../../src/answers/answers.ts';

export type Item = Answer<'SyncMatrix'>['items'][number];
export type Verdict = Item['verdicts'][number];
export type ResourceRow = Omit<Item, 'runs'> & {
  /** Zones in a row with one verdict: its index, and the index of the zone after the last of them. */
  readonly runs: readonly { readonly verdict: number; readonly end: number }[];
  /** For how many zones each verdict counts. */
  readonly counts: readonly number[];
};

/** @param zone its index in the names. @returns undefined where the row does not say */
export function verdictFor({ runs, verdicts }: ResourceRow, zone: number): Verdict | undefined {
  let low = 0;
  let high = runs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((runs[middle]?.end ?? 0) <= zone) low = middle + 1;
    else high = middle;
  }
  return verdicts[runs[low]?.verdict ?? -1];
}

/** The row of an item of an answer. */
export function rowOf({ runs, ...item }: Item): ResourceRow {
  const counts = item.verdicts.map(() => 0);
  let end = 0;
  const ends = runs.flatMap((verdict, at) => {
    if (at % 2 === 1) return [];
    const count = runs[at + 1] ?? 0;
    counts[verdict] = (counts[verdict] ?? 0) + count;
    end += count;
    return [{ verdict, end }];
  });
  return { ...item, runs: ends, counts };
}
