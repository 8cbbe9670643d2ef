// The difference of two texts by lines, with the lines around it: readable without colour. Pure.

const CONTEXT = 3;
/** Cells of the table of common subsequences; past them the whole middle counts as replaced. */
const MAX_CELLS = 4_000_000;

type Line = { readonly sign: ' ' | '-' | '+'; readonly text: string };

/** Lines that begin with `- `, `+ ` or two blanks; `…` stands where equal lines are left out. Empty when the texts are equal. */
export function diffLines(before: string, after: string): string[] {
  const lines = compare(linesOf(before), linesOf(after));
  const shown = new Set<number>();
  for (const [index, { sign }] of lines.entries())
    if (sign !== ' ') for (let at = index - CONTEXT; at <= index + CONTEXT; at += 1) shown.add(at);
  const printed: string[] = [];
  let isLeftOut = false;
  for (const [index, { sign, text }] of lines.entries()) {
    if (!shown.has(index)) isLeftOut = true;
    else {
      if (isLeftOut && printed.length > 0) printed.push('…');
      isLeftOut = false;
      printed.push(`${sign} ${text}`.trimEnd());
    }
  }
  return printed;
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

function compare(before: readonly string[], after: readonly string[]): Line[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  )
    tail += 1;
  const equal = (text: string): Line => ({ sign: ' ', text });
  return [
    ...before.slice(0, head).map(equal),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(equal),
  ];
}

/** By the longest common subsequence of lines; removals stand before additions. */
function middle(before: readonly string[], after: readonly string[]): Line[] {
  const removed = (text: string): Line => ({ sign: '-', text });
  const added = (text: string): Line => ({ sign: '+', text });
  const width = after.length + 1;
  if (before.length * after.length > MAX_CELLS) return [...before.map(removed), ...after.map(added)];
  const common = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1)
      common[i * width + j] =
        before[i] === after[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    const [old, fresh] = [before[i], after[j]];
    if (old !== undefined && old === fresh) {
      lines.push({ sign: ' ', text: old });
      i += 1;
      j += 1;
    } else if (
      old !== undefined &&
      (fresh === undefined || (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      lines.push(removed(old));
      i += 1;
    } else if (fresh !== undefined) {
      lines.push(added(fresh));
      j += 1;
    }
  }
  return lines;
}
