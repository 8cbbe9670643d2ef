// Which changes of many make a trial fail, with few trials: a trial with all, then with halves of what fails.

/**
 * The changes with which alone the trial fails. One that fails only together with another is not among them.
 * @param fails whether the trial fails with these changes at once
 */
export async function culpritsAmong<Item>(
  items: readonly Item[],
  fails: (some: readonly Item[]) => Promise<boolean>,
): Promise<Item[]> {
  if (items.length === 0 || !(await fails(items))) return [];
  if (items.length === 1) return [...items];
  const half = Math.ceil(items.length / 2);
  return [...(await culpritsAmong(items.slice(0, half), fails)), ...(await culpritsAmong(items.slice(half), fails))];
}

/** Groups in which no two changes overlap, as few as a greedy choice finds. Positions are those of one file each. */
export function withoutOverlaps<Item extends { readonly file: string; readonly mutant: { start: number; end: number } }>(
  items: readonly Item[],
): Item[][] {
  const groups: Item[][] = [];
  const overlap = (a: Item, b: Item): boolean =>
    a.file === b.file && a.mutant.start < b.mutant.end && b.mutant.start < a.mutant.end;
  for (const item of items) {
    const group = groups.find((one) => !one.some((other) => overlap(item, other)));
    if (group === undefined) groups.push([item]);
    else group.push(item);
  }
  return groups;
}
