// The known key that a person most likely meant by an unknown one.

const MAX_DISTANCE = 3;

/** The key with the fewest edits between them, letter case aside; null when none is near. */
export function nearestKey(key: string, known: readonly string[]): string | null {
  let nearest: string | null = null;
  let fewest = MAX_DISTANCE + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - key.length) > MAX_DISTANCE) continue;
    const edits = editDistance(key.toLowerCase(), candidate.toLowerCase());
    // An edit for every second letter makes any short word like any other.
    if (edits < fewest && edits * 2 <= candidate.length) [nearest, fewest] = [candidate, edits];
  }
  return nearest;
}

/** The end of the refusal of an unknown key: the nearest known key, else all of them. */
export function keyHint(key: string, known: readonly string[]): string {
  const nearest = nearestKey(key, known);
  return nearest === null ? `known keys are ${known.join(', ')}` : `did you mean ${JSON.stringify(nearest)}?`;
}

/** The number of insertions, deletions and replacements that make one text the other; two neighbours swapped count as one. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (above[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) edits = Math.min(edits, (before[j - 2] ?? 0) + 1);
      row.push(edits);
    }
    [before, above] = [above, row];
  }
  return above[b.length] ?? 0;
}
