// Untrusted text for a terminal: control characters, and characters that change the order or the look of others, are written as
// escapes. Text within one line goes through `visibleLine`, which also escapes line feeds, so that it cannot imitate a line of output.

/** Control and format characters (C0 but line feed and tab, DEL, C1; what reorders, joins or hides text) and line separators. */
const UNSAFE = /(?![\n\t])[\p{Cc}\p{Cf}\u2028\u2029]/u;
const ALL_UNSAFE = new RegExp(UNSAFE, 'gu');

/** Whether a terminal could take a part of the text for something else than a character to show. */
export function isUnsafe(text: string): boolean {
  return UNSAFE.test(text);
}

/**
 * The text with such characters as `\u001b`, which is also their escape in a JSON string and in a YAML string in double quotes. Line
 * feeds and tabs stay.
 */
export function visibleText(text: string): string {
  return isUnsafe(text) ? text.replaceAll(ALL_UNSAFE, escaped) : text;
}

/** The same on one line: line feeds and tabs are escaped too. */
export function visibleLine(text: string): string {
  return visibleText(text)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\t', String.raw`\t`);
}

function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
