import { fc } from '../../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../exit-codes.ts';
import { meets, parseRequirements, type LabelRequirement } from './label-requirements.ts';

const key = fc.constantFrom('a', 'team', 'in', 'notin', 'kuma.io/zone', 'k8s.kuma.io/namespace', 'constructor', 'A_b.c-9');
const value = fc.constantFrom('', 'x', 'shop', 'in', 'notin', 'a-b_c.d', '2026-01-01T10:00:00Z');
const values = fc.uniqueArray(value, { minLength: 1, maxLength: 4 });
const requirement = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('in' as const, 'notIn' as const), values }),
  fc.record({ key, operator: fc.constantFrom('exists' as const, 'absent' as const) }),
) satisfies fc.Arbitrary<LabelRequirement>;
const blank = fc.constantFrom('', ' ', '\t', '  ');

/** One of the spellings of a requirement. */
function written(one: LabelRequirement): fc.Arbitrary<string> {
  return fc.tuple(fc.constantFrom('=', '=='), fc.boolean(), blank, blank).map(([equal, short, left, right]) => {
    if (!('values' in one)) return `${left}${one.operator === 'exists' ? '' : '!'}${right}${one.key}`;
    // A pair of parentheses with nothing between is refused; with a comma it holds the empty value.
    if (one.values.join() === '' && !short) return `${one.key} ${one.operator.toLowerCase()}(${right},)`;
    const [first = '', ...others] = one.values;
    if (short && others.length === 0)
      return `${left}${one.key}${right}${one.operator === 'in' ? equal : '!='}${left}${first}${right}`;
    return `${left}${one.key} ${one.operator.toLowerCase()}${left}(${right}${one.values.join(`${left},${right}`)})`;
  });
}

const selector = fc
  .array(requirement, { maxLength: 5 })
  .chain((requirements) => fc.tuple(fc.constant(requirements), fc.tuple(...requirements.map(written))));

describe('a label selector', () => {
  it('means the same in all its spellings', () => {
    fc.assert(
      fc.property(selector, ([requirements, texts]) => {
        expect(parseRequirements(texts.join(','))).toEqual(requirements);
      }),
    );
  });

  it('is parsed completely, or refused with a position', () => {
    const piece = fc.constantFrom('a', 'in', 'notin', '=', '==', '!', '!=', '(', ')', ',', ' ', '"', '<', '[', 'ü', '\n');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((pieces) => pieces.join('')),
        ),
        (text) => {
          try {
            parseRequirements(text);
          } catch (error) {
            if (!(error instanceof UsageError)) throw error;
            const [first = '', shown = '', caret = ''] = error.message.split('\n');
            const at = Number(/at character (\d+) /.exec(first)?.[1]);
            expect(caret).toBe(`${' '.repeat(at + 1)}^`);
            expect(shown).toHaveLength(text.length + 2);
            expect(at).toBeLessThanOrEqual(text.length + 1);
          }
        },
      ),
    );
  });

  it.each([
    ['a>b', 2, '=, ==, !=, in, notin, a comma or the end after "a"'],
    ['team in shop', 9, 'the values in parentheses'],
    ['team in ()', 10, 'at least one value'],
    ['team in (a', 11, 'a comma and another value, or )'],
    ['team in ("a")', 10, 'without quotes'],
    ['a=b,', 5, 'the key of a label'],
    ['a=b c', 5, 'a comma and another requirement'],
    ['a,,b', 3, 'the key of a label'],
    ['=a', 1, 'the key of a label'],
    ['!a=b', 3, 'a comma and another requirement'],
    ['-a', 1, 'an optional DNS name'],
    ['__proto__', 1, 'an optional DNS name'],
    [`${'k'.repeat(64)}=v`, 1, 'at most 63'],
  ])('%s is refused at character %i', (text, at, allowed) => {
    expect(() => parseRequirements(text)).toThrow(`at character ${String(at)} `);
    expect(() => parseRequirements(text)).toThrow(allowed);
  });

  it('prints the position of an error and the allowed syntax', () => {
    expect(() => parseRequirements('team in shop')).toThrow(
      `--selector: at character 9 there is "shop"; allowed is the values in parentheses: (A,B)
  team in shop
          ^
A selector has KEY=VALUE, KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY, !KEY,
joined by commas; all of them must hold.`,
    );
  });
});

describe('labels', () => {
  it.each([
    ['a=x', true],
    ['a==y', false],
    ['a!=x', false],
    ['b!=x', true],
    ['a in (x,y)', true],
    ['b in (x,y)', false],
    ['b in (,x)', false],
    ['a notin (y)', true],
    ['b notin (y)', true],
    ['a', true],
    ['b', false],
    ['!a', false],
    ['!b', true],
    ['empty=', true],
    ['empty in (,x)', true],
    ['constructor', false],
    ['!constructor', true],
  ])('a=x,empty= match the selector %s: %s', (text, expected) => {
    expect(parseRequirements(text).every((one) => meets({ a: 'x', empty: '' }, one))).toBe(expected);
  });
});
