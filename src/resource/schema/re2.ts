// Regular expressions in RE2 syntax, which Envoy and Go read. Pure; an expression is compiled and never run.
import { RE2JS } from 're2js';

const MAX_LENGTH = 4_096;
/** Sum of all bounds of repetitions, `{1000}`: each is a copy in the compiled expression, and compiling thousands takes long. */
const MAX_COPIES = 4_000;
const REPETITION = /\{(\d{1,6})(?:,(\d{0,6}))?\}/g;

/** What is allowed, for errors. */
export const RE2_FORM = 'a regular expression in RE2 syntax, of at most 4096 characters and 4000 copies by repetitions';

/** Whether a text is a regular expression in RE2 syntax, within the bounds of `RE2_FORM`. */
export function isRe2(text: string): boolean {
  if (text.length > MAX_LENGTH || copies(text) > MAX_COPIES) return false;
  try {
    RE2JS.compile(text);
    return true;
  } catch {
    return false;
  }
}

function copies(text: string): number {
  let sum = 0;
  for (const [, least = '0', most = ''] of text.matchAll(REPETITION)) sum += Math.max(Number(least), Number(most));
  return sum;
}
