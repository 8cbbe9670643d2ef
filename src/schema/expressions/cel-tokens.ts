// The tokens of CEL, as its language definition has them and Envoy 1.40 reads them (xds 3.3). Pure.

const SPACE = /[ \t]*/y;
/**
 * The tokens are literal texts with escapes, without those of surrogates; literal bytes; both without escapes; numbers; names;
 * marks.
 */
const TOKENS = [
  /"(?:[^\\"\p{Cc}]|\t|\\(?:[abfnrtv"'`?\\]|[xX][\da-fA-F]{2}|[0-3][0-7]{2}|u(?![dD][89a-fA-F])[\da-fA-F]{4}|U000(?!0[dD][89a-fA-F])[\da-fA-F]{5}))*"/uy,
  /'(?:[^\\'\p{Cc}]|\t|\\(?:[abfnrtv"'`?\\]|[xX][\da-fA-F]{2}|[0-3][0-7]{2}|u(?![dD][89a-fA-F])[\da-fA-F]{4}|U000(?!0[dD][89a-fA-F])[\da-fA-F]{5}))*'/uy,
  /[bB]"(?:[^\\"\p{Cc}]|\t|\\(?:[abfnrtv"'`?\\]|[xX][\da-fA-F]{2}|[0-3][0-7]{2}))*"/uy,
  /[bB]'(?:[^\\'\p{Cc}]|\t|\\(?:[abfnrtv"'`?\\]|[xX][\da-fA-F]{2}|[0-3][0-7]{2}))*'/uy,
  /[bB]?[rR]"(?:[^\\"\p{Cc}]|\t|\\(?!"))*"/uy,
  /[bB]?[rR]'(?:[^\\'\p{Cc}]|\t|\\(?!'))*'/uy,
  /0x[\da-fA-F]{1,16}[uU]?(?!\w)/y,
  /(?:\d{1,20}(?:\.\d{1,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,3})?(?!\w)/y,
  /\d{1,20}[uU](?!\w)/y,
  /[A-Za-z_]\w*|`[\w.\-/ ]+`/y,
  /&&|\|\||[=!<>]=|[-+*/%<>!?:.,()[\]{}]/y,
];

/** Names of fields may be reserved words, but for those of the grammar. */
const GRAMMAR_WORDS: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null']);
export const CONSTANTS: ReadonlySet<string> = new Set(['true', 'false', 'null']);
const RESERVED: ReadonlySet<string> = new Set(
  'as break const continue else for function if import in let loop namespace package return var void while'.split(' '),
);

/** The names, numbers, literal texts and marks of an expression, in their order; null where a part of it is none of these. */
export function tokensOf(text: string): string[] | null {
  const tokens: string[] = [];
  for (let at = endOf(SPACE, text, 0); at < text.length;) {
    const end = TOKENS.map((form) => endOf(form, text, at)).find((one) => one > at);
    if (end === undefined) return null;
    tokens.push(text.slice(at, end));
    at = endOf(SPACE, text, end);
  }
  return tokens;
}

/** The end of what a sticky expression finds at an index; the index itself if it finds nothing. */
function endOf(form: RegExp, text: string, at: number): number {
  form.lastIndex = at;
  return form.test(text) ? form.lastIndex : at;
}

/** Whether a token is a literal text, or literal bytes. */
export function isText(token: string): boolean {
  return /["']$/.test(token);
}

/** Whether a token may name a variable or a function. */
export function isName(token: string): boolean {
  return /^[A-Za-z_]\w*$/.test(token) && !RESERVED.has(token) && !CONSTANTS.has(token);
}

/** Whether a token may name a field. */
export function isFieldName(token: string): boolean {
  return /^(?:[A-Za-z_]\w*|`.*)$/.test(token) && !GRAMMAR_WORDS.has(token);
}

/** The content of a literal text; null for one with other escapes than those of a backslash and of quotes. */
export function contentOf(token: string): string | null {
  const [, prefix = '', quoted = ''] = /^(\w*).([^]*).$/.exec(token) ?? [];
  if (/[rR]/.test(prefix)) return quoted;
  return /^(?:[^\\]|\\[\\"'`?])*$/.test(quoted) ? quoted.replace(/\\(.)/g, '$1') : null;
}

/** Whether 64 bits hold a whole number. */
export function isInRange(token: string): boolean {
  const [, digits, unsigned] = /^(0x[\da-fA-F]+|\d+)([uU]?)$/.exec(token) ?? [];
  return digits === undefined || BigInt(digits) < 2n ** (unsigned === '' ? 63n : 64n);
}
