// Regular expressions in RE2 syntax, which Envoy and Go read. Pure; an expression is compiled and never run.

const MAX_LENGTH = 4_096;
/** Syntax of other engines that RE2 lacks: look-around and references to groups. */
const NOT_IN_RE2 = /\(\?<?[=!]|\(\?>|\\[1-9]|\\k</;
/** `(?P<name>`, and flags such as `(?i)` or `(?s:`. */
const NAMED_GROUP = /\(\?P</g;
const FLAGS = /\(\?[imsU]{0,4}(?:-[imsU]{1,4})?(:|\))/g;

/** Whether a text is a regular expression in RE2 syntax. */
export function isRe2(text: string): boolean {
  if (text.length > MAX_LENGTH || NOT_IN_RE2.test(text)) return false;
  const plain = text.replace(NAMED_GROUP, '(?<').replace(FLAGS, (_, end: string) => (end === ':' ? '(?:' : ''));
  try {
    return new RegExp(plain) instanceof RegExp;
  } catch {
    return false;
  }
}
