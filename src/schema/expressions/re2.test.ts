// The check of regular expressions agrees with RE2JS, an implementation of RE2, but for what Envoy 1.40 reads in another way.
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import { isRe2 } from './re2.ts';
import { find, NOTHING_FOUND } from '../../validation/spec-table.fixture.ts';

/** The parts of expressions, in any order. */
const PARTS = [
  ...['a', 'b', '-', '^', '$', '.', '|', ',', '1', 'é', '漢', '\n'],
  ...['(', ')', '(?:', '(?i)', '(?-s)', '(?i-m:', '(?P<n>', '(?<m>', '(?P<é>', '(?=', '(?i-)', '(?'],
  ...['[', '[^', ']', '[:alpha:]', '[:^digit:]', '[:foo:]', ':]', '[a-', '[z-'],
  ...['*', '+', '?', '{2}', '{2,5}', '{3,}', '{31}', '{1000}', '{0}', '{5,2}', '{1001}', '{,3}', '{01}', '{', '}'],
  ...['\\', '\\d', '\\W', '\\pL', '\\p{Greek}', '\\P{^Lu}', '\\p{Foo}', '\\p', '\\b', '\\B', '\\A', '\\z', '\\Z', '\\Q', '\\E'],
  ...['\\x{e9}', '\\x{', '\\x41', '\\x4', '\\101', '\\1', '\\0', '\\.', '\\-', '\\_', '\\n', '\\q', '\\é', '\\8'],
];

/** RE2JS takes `[:]` in a class for the name of one. RE2 looks for the end of the name, `:]`, behind that colon, and finds none. */
const NO_NAME = /(?<!\\)((?:\\\\)*)\[:\](?!.*:\])/gs;

/** Reads a text as Envoy does: each byte is a character. */
function isForRe2js(text: string): boolean {
  try {
    RE2JS.compile(
      Buffer.from(text)
        .toString('latin1')
        .replace(NO_NAME, String.raw`$1\[:]`),
    );
    return true;
  } catch {
    return false;
  }
}

describe('a regular expression', () => {
  it('is accepted if RE2 reads it', () => {
    const expression = fc.array(fc.constantFrom(...PARTS), { maxLength: 10 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(expression, (text) => {
        expect([text, isRe2(text)]).toEqual([text, isForRe2js(text)]);
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    ['/a\\x{ff}\\377'],
    ['^/api/v[0-9]+/users/([a-z0-9-]+)(/.*)?$'],
    ['[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}'],
    ['a{1000}b{1000}c{1000}d{1000}'],
    ['(?:[a-z0-9-]{1,63}\\.){1,15}example'],
    ['(a{500,}){2}'],
    ['[[:alpha]'],
    ['[[:]'],
    ['\\p{Zanabazar_Square}\\pZ\\p{Any}'],
    [`${'('.repeat(999)}${')'.repeat(999)}`],
  ])('may be %s', (text) => {
    expect(isRe2(text)).toBe(true);
  });

  it.each([
    ['a code that is no byte', '/\\x{100}'],
    ['a code that is no byte, in a class', '[\\x{4e00}-\\x{9fff}]'],
    ['a code that is no byte, in octal digits', '\\400'],
    ['a code above the first byte of a character', '[\\xff-é]'],
    ['a Unicode class that Envoy does not have: LC', '\\p{LC}'],
    ['a Unicode class that Envoy does not have: Cn', '[\\p{Cn}]'],
    ['a Unicode class that Envoy does not have: Ascii', '\\p{Ascii}'],
    ['nested repetitions of more than 1000 copies', '((a{10}){10}){11}'],
    ['more than 1000 copies at least', '(a{501,}){2}'],
    ['a program that is too large', `(${'a'.repeat(100)}){1000}`],
    ['too many groups in each other', `${'('.repeat(1001)}${')'.repeat(1001)}`],
    ['too many characters', 'a'.repeat(4097)],
    ['two groups of one name', '(?P<n>a)(?P<n>b)'],
  ])('may not have %s', (_, text) => {
    expect(isRe2(text)).toBe(false);
  });
});

describe('a document of many regular expressions', () => {
  /**
   * The text has 950 kB of them. An implementation that compiles each needs 44 seconds, in which the process serves no request.
   */
  it.each([
    ['that repeat much', (at: number) => `a{1000}b{1000}c{1000}d{1000}${String(at)}`],
    ['with classes of Unicode', (at: number) => `(?i)\\pL\\pL\\pL\\pL\\pL\\pL\\pL\\pL${String(at)}`],
  ])('%s is checked without a halt', (_, expression) => {
    const headers = Array.from({ length: 12_000 }, (_unused, at) => ({
      ...{ type: 'RegularExpression', name: 'x', value: expression(at) },
    }));
    const rules = [{ matches: [{ headers }], default: {} }];
    expect(find('MeshHTTPRoute', { to: [{ targetRef: { kind: 'MeshService', name: 'a' }, rules }] })).toEqual(NOTHING_FOUND);
  });
});
