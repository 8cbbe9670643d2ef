// Output for people (tables, 80 columns if possible) and for programs (JSON, YAML).
// Invariant: no control character of a resource or a peer reaches the terminal; colours are added after the escape.
import { Document, visit } from 'yaml';
import { isUnsafe, visibleText } from '../base/visible-text.ts';

export type Format = 'table' | 'wide' | 'json' | 'yaml';

/** The text has no trailing line feed, which `print` adds: in YAML it can be part of the last value. */
export function serialize(value: unknown, format: 'json' | 'yaml'): string {
  return visibleText(format === 'json' ? JSON.stringify(value, null, 2) : yamlOf(value).replace(/\n$/, ''));
}

/** Matches a line of blanks alone. A block of YAML would lose the blanks at its start. */
const BLANK_LINES = /^\s+$/;

/**
 * Prints YAML. A text with blank lines or an unsafe character stands in double quotes, where an escape represents the character.
 */
function yamlOf(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: true });
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value === 'string' && (isUnsafe(scalar.value) || BLANK_LINES.test(scalar.value)))
        scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 80 });
}

export function isForPrograms(output: string): output is 'json' | 'yaml' {
  return output === 'json' || output === 'yaml';
}

/** Prints the items for programs, or their text for people. @param nothing the message for an empty list */
export function printList<T>(
  items: readonly T[],
  output: Format,
  { nothing, text }: { readonly nothing: string; readonly text: (items: readonly T[]) => string },
): void {
  if (isForPrograms(output)) print(serialize({ total: items.length, items }, output));
  else if (items.length === 0) note(nothing);
  else print(text(items));
}

const AGE_UNITS = [
  ['y', 31_536_000],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

/** `59s`, `5m`, `2h`, `1d`, `1y`; `never` without a time (rest-api 6). */
export function ageOf(time: unknown, now: number = Date.now()): string {
  const then = typeof time === 'string' ? Date.parse(time) : NaN;
  if (Number.isNaN(then)) return 'never';
  const seconds = Math.max(0, Math.floor((now - then) / 1000));
  const [unit, size] = AGE_UNITS.find(([, size]) => seconds >= size) ?? ['s', 1];
  return `${String(Math.floor(seconds / size))}${unit}`;
}

export function print(text: string): void {
  printPainted(visibleText(text));
}

/** Prints text with colours. Everything except the colours must have passed `visibleText`. */
export function printPainted(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Messages for people. Standard output holds only the output for programs. */
export function note(text: string): void {
  process.stderr.write(`${visibleText(text)}\n`);
}

/** Colour is on at a terminal without NO_COLOR. No information depends on colour alone. */
export function usesColour(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}
