// Long lists of JSON: what is read and written equals JSON.parse and JSON.stringify, and items with one text are one object.
import { describe, expect, it, vi } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { MIN_TEXT, printJson, readJson } from './long-lists.ts';

const rule = (at: number, header = 'same'): object => ({
  matches: [{ path: `/resource-${String(at)}` }],
  header,
  deep: { list: [1, null] },
});
const document = (length: number, header = 'same', space?: number): string =>
  JSON.stringify(
    {
      to: [
        { targetRef: { kind: 'MeshService' }, rules: Array.from({ length }, (_, at) => rule(at, at === 7 ? header : 'same')) },
      ],
    },
    null,
    space,
  );
const rulesOf = (text: string): object[] => (readJson(text) as { to: { rules: object[] }[] }).to[0]?.rules ?? [];

describe('a long list', () => {
  it.each([undefined, 2])('has the same objects in each version, but for the changed item (indentation %s)', (space) => {
    const before = rulesOf(document(500, 'one', space));
    const after = rulesOf(document(500, 'two', space));
    expect(after.flatMap((item, at) => (item === before[at] ? [] : [at]))).toEqual([7]);
    expect(after[7]).toEqual(rule(7, 'two'));
  });

  it('has the same objects when it is read as it was written', () => {
    const read = rulesOf(document(600, 'written', 2));
    const again = rulesOf(printJson(readJson(document(600, 'written', 2)) as object));
    // All texts of compact items but this one are remembered already.
    expect([again[7] === read[7], again]).toEqual([true, read]);
  });

  it('is read-only, as is the document around it', () => {
    const read = readJson(document(500)) as { to: { rules: { deep: { list: number[] } }[] }[] };
    expect(() => read.to[0]?.rules[0]?.deep.list.push(1)).toThrow(TypeError);
    expect(() => read.to.pop()).toThrow(TypeError);
  });
});

/** Texts that are nearly JSON, and lists that are not of objects alone. */
const BROKEN = [
  ['a missing comma', (text: string) => text.replace('},{', '} {')],
  ['two commas', (text: string) => text.replace('},{', '},,{')],
  ['a comma at the end', (text: string) => text.replace(']}]}', ',]}]}')],
  ['a number among the items', (text: string) => text.replace('},{"matches', '},5,{"matches')],
  ['a text among the items', (text: string) => text.replace('},{"matches', '},"u",{"matches')],
  ['a list among the items', (text: string) => text.replace('},{"matches', '},[],{"matches')],
  ['brackets that do not fit', (text: string) => text.replace('}}', '}]')],
  ['too many brackets', (text: string) => `${text}]`],
  ['too few brackets', (text: string) => text.slice(0, -1)],
  ['a broken item', (text: string) => text.replace('"header":', '"header"')],
  ['brackets in a text', (text: string) => text.replace('same', '[{\\\\\\"]')],
  ['the mark of this reader', (text: string) => text.replace('same', '@long-list:0')],
] as const;

it.each(BROKEN)('%s is read, or refused, as by JSON.parse', (_, edit) => {
  const text = edit(document(500));
  const outcome = (read: (given: string) => unknown): unknown => {
    try {
      return read(text);
    } catch (error) {
      return String(error);
    }
  };
  expect(outcome(readJson)).toEqual(outcome(JSON.parse));
});

it('items that are not shared are printed as they are now', () => {
  const value = { rules: Array.from({ length: 40 }, (_, at) => ({ at })) };
  const [first] = value.rules;
  expect(printJson(value)).toBe(JSON.stringify(value));
  if (first !== undefined) first.at = 41;
  expect(printJson(value)).toBe(JSON.stringify(value));
});

it('any JSON is read as by JSON.parse, and written as by JSON.stringify', () => {
  const longList = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), { minLength: 30, maxLength: 60 });
  const any = fc.record({ before: fc.jsonValue(), nested: fc.record({ longList, other: longList }), after: fc.jsonValue() });
  fc.assert(
    fc.property(any, fc.constantFrom(0, 1), (value, space) => {
      const text = JSON.stringify({ ...value, padding: 'x'.repeat(MIN_TEXT) }, null, space);
      expect(readJson(text)).toEqual(JSON.parse(text));
      expect(printJson(readJson(text) as object)).toBe(JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: 50 },
  );
});

describe('the next version of a text', () => {
  const outcome = (read: (given: string) => unknown, text: string): unknown => {
    try {
      return read(text);
    } catch (error) {
      return String(error);
    }
  };
  const base = JSON.stringify({
    name: 'x',
    to: [{ rules: Array.from({ length: 600 }, (_, at) => rule(at)) }, { rules: Array.from({ length: 50 }, (_, at) => rule(at)) }],
    end: [1],
  });

  it('is read as by JSON.parse, wherever it differs', () => {
    const part = fc.oneof(
      fc.constantFrom(
        '',
        ',',
        ',,',
        '{}',
        ',{}',
        '{},',
        ',{"a":[{}]},',
        '[',
        ']',
        '}',
        '{',
        '"',
        ' ',
        '5',
        '},{',
        ']},{"rules":[',
      ),
      fc.string({ maxLength: 3 }),
    );
    const edits = fc.record({ from: fc.nat(base.length), length: fc.oneof(fc.nat(3), fc.nat(400)), part });
    // People edit between items.
    const places = [...base.matchAll(/\{"matches/g)].map(({ index }) => index);
    const between = fc.record({
      from: fc.constantFrom(...places),
      length: fc.constantFrom(0, JSON.stringify(rule(1)).length + 1),
      part,
    });
    fc.assert(
      fc.property(fc.oneof(edits, between), ({ from, length, part: inserted }) => {
        readJson(base);
        const text = base.slice(0, from) + inserted + base.slice(from + length);
        expect(outcome(readJson, text)).toEqual(outcome(JSON.parse, text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('is printed without a look at the items that are as before', () => {
    const read = (header: string): object => readJson(document(700, header)) as object;
    printJson(read('first'));
    const edited = read('second');
    const looks = vi.spyOn(Object, 'isFrozen');
    try {
      expect(printJson(edited)).toBe(document(700, 'second'));
      expect(looks).not.toHaveBeenCalled();
    } finally {
      looks.mockRestore();
    }
  });

  it('is printed as by JSON.stringify, wherever it differs', () => {
    const edits = fc.record({
      from: fc.nat(599),
      length: fc.nat(3),
      items: fc.array(fc.constantFrom('{}', '{"b":1,"a":2}', '{ "a": 1 }', '{"a":1,"a":2}', '{"a":"\\u0041"}'), { maxLength: 3 }),
      glue: fc.constantFrom(',', ' ,', ', '),
    });
    const itemTexts = Array.from({ length: 600 }, (_, at) => JSON.stringify(rule(at)));
    const textOf = (items: readonly string[], glue = ','): string => `{"to":[{"rules":[${items.join(glue)}]}],"end":1}`;
    fc.assert(
      fc.property(edits, fc.boolean(), ({ from, length, items, glue }, isAllGlued) => {
        printJson(readJson(textOf(itemTexts)) as object);
        const text = isAllGlued
          ? textOf(itemTexts.toSpliced(from, length, ...items), glue)
          : textOf(itemTexts.toSpliced(from, length, items.join(glue)).filter((item) => item !== ''));
        expect(printJson(readJson(text) as object)).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['an item more', (rules: object[]) => rules.toSpliced(9, 0, rule(-1))],
    ['an item less', (rules: object[]) => rules.toSpliced(9, 1)],
    ['another first item', (rules: object[]) => rules.with(0, rule(-1))],
    ['another last item', (rules: object[]) => rules.with(-1, rule(-1))],
    ['no last item', (rules: object[]) => rules.slice(0, -1)],
    ['an item that has moved', (rules: object[]) => rules.toSpliced(9, 1).toSpliced(40, 0, rules[9] ?? {})],
  ])('with %s has the other items as they were', (_, edit) => {
    const rules = Array.from({ length: 600 }, (_item, at) => rule(at, 'versions'));
    const before = rulesOf(JSON.stringify({ to: [{ rules }] }));
    const wanted = edit(rules);
    const after = rulesOf(JSON.stringify({ to: [{ rules: wanted }] }));
    expect(after).toEqual(wanted);
    const isNew = (item: object): boolean => JSON.stringify(item) === JSON.stringify(rule(-1));
    expect(after.filter((item) => !before.includes(item))).toEqual(after.filter(isNew));
    expect(() => (after as unknown[]).pop()).toThrow(TypeError);
  });
});
