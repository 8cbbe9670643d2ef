// The line difference of two texts with context, readable without colour. Pure.
import { structuredPatch } from 'diff';

const CONTEXT = 3;
/** The limit of differing lines. The cost is quadratic in them, so with more the whole text counts as replaced. */
const MAX_EDITS = 1_000;

/** Lines with the prefix `- `, `+ ` or two blanks; `…` replaces omitted equal lines. Empty for equal texts. */
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
