// Counts of random choices, compared with what they should be.
import { expect } from 'vitest';

export function countBy<T>(items: readonly T[], key: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
  return counts;
}

/** Each count is within six standard deviations of its share: a wrong one in a thousand million runs. */
export function expectShares(counts: ReadonlyMap<string, number>, shares: Readonly<Record<string, number>>): void {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  expect([...counts.keys()].sort()).toEqual(Object.keys(shares).sort());
  for (const [key, share] of Object.entries(shares)) {
    const distance = Math.abs((counts.get(key) ?? 0) - total * share);
    expect(distance, `${key}: ${String(counts.get(key))} of ${String(total)}`).toBeLessThanOrEqual(
      6 * Math.sqrt(total * share * (1 - share)),
    );
  }
}
