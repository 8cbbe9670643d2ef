// The difference of two texts by lines, with the lines around it: readable without colour. Pure.
import { structuredPatch } from 'diff';

const CONTEXT = 3;
/** Lines that differ. The work grows with their square: with more of them the whole text counts as replaced. */
const MAX_EDITS = 1_000;

/** Lines that begin with `- `, `+ ` or two blanks; `…` is in the place of equal lines that are left out. Empty for equal texts. */
export function diffLines(before: string, after: string): string[] {
  const [old, fresh] = [ended(before), ended(after)];
  const patch = structuredPatch('', '', old, fresh, '', '', { context: CONTEXT, maxEditLength: MAX_EDITS });
  const hunks = patch?.hunks.map(({ lines }) => lines) ?? [[...signed('-', old), ...signed('+', fresh)]];
  const shown = hunks.map((lines) => lines.map((line) => `${line.slice(0, 1)} ${line.slice(1)}`.trimEnd()));
  return shown.flatMap((lines, index) => (index === 0 ? lines : ['…', ...lines]));
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

function signed(sign: '-' | '+', text: string): string[] {
  return text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => sign + line);
}
