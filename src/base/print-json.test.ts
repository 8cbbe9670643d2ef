// JSON in steps is the JSON of one go, and no step has much of it.
import { expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { isLarge, printParts, printSteps } from './print-json.ts';
import { runSteps } from './steps.ts';

const rows = (count: number): object[] =>
  Array.from({ length: count }, (_, at) => ({ at, text: 'ä\n"', none: undefined, list: [at, {}] }));

it('is the text of JSON.stringify', () => {
  const values: unknown[] = [
    ...[null, 5, 'text', [], {}, rows(3), { a: undefined }, [undefined, () => 1], new Date(0)],
    ...[rows(5_000), { items: rows(3_000), total: 3_000, empty: [], none: undefined }, { '"key': { deeper: [rows(2_000), []] } }],
    { dates: Array.from({ length: 3_000 }, () => new Date(0)), last: Array.from({ length: 5_000 }, () => undefined) },
  ];
  for (const value of values) expect([...printParts(value)].join('')).toBe(JSON.stringify(value, null, 1));
});

it('is the text of JSON.stringify for any value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 40 }), (value, times) => {
      const many = { many: Array.from({ length: times * 100 }, () => value), one: value };
      expect(runSteps(printSteps(many)).toString()).toBe(JSON.stringify(many, null, 1));
    }),
  );
});

it('has steps of a bounded size, wherever long lists stand', () => {
  const deep = (levels: number): object => (levels === 0 ? { rows: rows(20_000) } : { inner: [deep(levels - 1)] });
  const mixed = [...rows(40), { few: 1, list: rows(20_000) }];
  for (const value of [
    rows(50_000),
    { a: { b: rows(50_000) } },
    deep(2),
    Object.fromEntries(rows(50_000).map((row, at) => [`k${String(at)}`, row])),
    mixed,
  ])
    expect(Math.max(...[...printParts(value)].map(({ length }) => length))).toBeLessThan(10_000);
});

it('is not for small values', () => {
  expect([{ items: rows(10), total: 10 }, { items: rows(40) }, { to: [{ rules: rows(50) }] }].map(isLarge)).toEqual([
    false,
    true,
    true,
  ]);
});
