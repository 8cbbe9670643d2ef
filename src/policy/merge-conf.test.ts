// Merging of confs (policies 3.3).
import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../resource/types.ts';
import { mergeConf, mergeConfs, withoutNulls } from './merge-conf.ts';

/** Confs of one schema: a key has one shape in all of them. */
const conf: fc.Arbitrary<JsonObject> = fc.record(
  {
    idleTimeout: fc.constantFrom('1s', '2s'),
    http: fc.record({ requestTimeout: fc.string(), retryOn: fc.array(fc.string(), { maxLength: 3 }) }, { requiredKeys: [] }),
    appendMatch: fc.array(fc.nat(9), { maxLength: 3 }),
  },
  { requiredKeys: [] },
);

describe('mergeConf', () => {
  it('overrides scalars, recurses into objects, replaces lists', () => {
    const weaker: JsonObject = { a: 1, http: { requestTimeout: '1s', retryOn: ['500', '501'] } };
    expect(mergeConf(weaker, { http: { retryOn: ['5xx'] }, b: true })).toEqual({
      a: 1,
      b: true,
      http: { requestTimeout: '1s', retryOn: ['5xx'] },
    });
    expect(mergeConf(weaker, { http: { retryOn: [] } })).toEqual({ a: 1, http: { requestTimeout: '1s', retryOn: [] } });
  });

  it.each(['appendMatch', 'appendModifications', 'appendProfiles'])('appends lists under %s, weakest first', (key) => {
    expect(mergeConfs([{ [key]: [1] }, { [key]: [2] }, { [key]: [3] }])).toEqual({ [key]: [1, 2, 3] });
  });

  it('is associative for confs of one schema, has a neutral element and changes no input', () => {
    fc.assert(
      fc.property(conf, conf, conf, (a, b, c) => {
        const before = JSON.stringify([a, b, c]);
        expect(mergeConf(mergeConf(a, b), c)).toEqual(mergeConf(a, mergeConf(b, c)));
        expect(mergeConf({}, a)).toEqual(a);
        expect(mergeConf(a, {})).toEqual(a);
        expect(JSON.stringify([a, b, c])).toBe(before);
      }),
    );
  });

  it('is idempotent without append keys', () => {
    fc.assert(
      fc.property(conf, ({ appendMatch, ...given }) => {
        expect(mergeConf(given, given)).toEqual(given);
      }),
    );
  });

  it('removes nulls and __proto__, and reads no inherited key', () => {
    const given = JSON.parse('{"a":null,"b":{"c":null,"d":[{"e":null}]},"__proto__":{"polluted":true}}') as JsonObject;
    expect(withoutNulls(given)).toEqual({ b: { d: [{}] } });
    expect(mergeConf({}, { constructor: { name: 'x' } })).toEqual({ constructor: { name: 'x' } });
    expect(({} as JsonObject)['polluted']).toBeUndefined();
  });

  it('keeps values nested deeper than a request body may be', () => {
    let deep: JsonObject = { end: null };
    for (let level = 0; level < 50_000; level += 1) deep = { deep };
    expect(() => withoutNulls(deep)).not.toThrow();
  });
});

it('withoutNulls removes nulls from objects up to a depth of 64, through lists and objects', () => {
  const nested = (depth: number, wrap: (inner: JsonObject) => JsonObject): string => {
    let value: JsonObject = { gone: null };
    for (let level = 0; level < depth; level += 1) value = wrap(value);
    return JSON.stringify(withoutNulls(value));
  };
  expect(nested(64, (inner) => ({ a: inner }))).not.toContain('gone');
  expect(nested(65, (inner) => ({ a: inner }))).toContain('gone');
  // A list in an object is two levels.
  expect(nested(32, (inner) => ({ a: [inner] }))).not.toContain('gone');
  expect(nested(33, (inner) => ({ a: [inner] }))).toContain('gone');
});
