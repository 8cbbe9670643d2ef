// The items of a long list that a check looks at again.
import { describe, expect, it } from 'vitest';
import { MIN_TEXT, readJson } from '../base/long-lists.ts';
import { objectOf } from '../resource/read-json.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { checkSpec } from '../validation/check-spec.ts';
import { FaultlessItems } from './faultless-items.ts';

const frozen = (values: readonly number[]): Json[] => values.map((value) => Object.freeze({ value }));
const isOdd = (item: Json): boolean => Number(objectOf(item)['value']) % 2 === 1;

describe('a check of the items of a long list', () => {
  const items = frozen(Array.from({ length: 4_500 }, (_, at) => 2 * at + 1));

  function checked(known: FaultlessItems, list: readonly Json[], whole = true): { isFaultless: boolean; looked: number } {
    let looked = 0;
    const isFaultless = known.check(
      items,
      list,
      (item) => {
        looked += 1;
        return isOdd(item);
      },
      { whole },
    );
    return { isFaultless, looked };
  }

  it('looks at one item when one has changed', () => {
    const known = new FaultlessItems();
    expect(checked(known, items)).toEqual({ isFaultless: true, looked: 4_500 });
    expect(checked(known, items.with(7, Object.freeze({ value: 9_999 })))).toEqual({ isFaultless: true, looked: 1 });
  });

  it('looks at items with a fault each time, and at those that may change', () => {
    const known = new FaultlessItems();
    const list = [...items.slice(0, 40), ...frozen([2, 4]), { value: 1 }];
    expect([checked(known, list), checked(known, list)]).toEqual([
      { isFaultless: false, looked: 43 },
      { isFaultless: false, looked: 3 },
    ]);
    expect(checked(known, list, false)).toEqual({ isFaultless: false, looked: 1 });
  });

  it('remembers nothing of a short list', () => {
    const known = new FaultlessItems();
    const short = items.slice(0, 20);
    expect([checked(known, short), checked(known, short)].map(({ looked }) => looked)).toEqual([20, 20]);
  });
});

describe('a long route', () => {
  const rule = (at: number, edit: JsonObject = {}): JsonObject => ({
    matches: [{ path: { type: 'Exact', value: `/checked-${String(at)}` } }],
    default: { backendRefs: [{ kind: 'MeshService', name: 'cart', port: 80 }] },
    ...edit,
  });
  const check = (rules: readonly JsonObject[]): unknown => {
    const to = [{ targetRef: { kind: 'MeshService', name: 'cart' }, rules }];
    const spec = objectOf(readJson(JSON.stringify({ to, padding: 'x'.repeat(MIN_TEXT) })));
    return checkSpec(
      typeOf('MeshHTTPRoute'),
      { labels: {}, mesh: 'default', name: 'long', spec: { to: spec['to'] ?? null } },
      { strict: true },
    );
  };
  const rules = Array.from({ length: 200 }, (_, at) => rule(at));

  it.each([
    ['a wrong value', { matches: [{ path: { type: 'Exact', value: 'no-slash' } }] }],
    ['a wrong type', { matches: 5 }],
    ['an unknown key', { other: 1 }],
    [
      'a filter without effect',
      {
        default: {
          filters: [
            { type: 'RequestRedirect', requestRedirect: { port: 80 } },
            { type: 'URLRewrite', urlRewrite: { hostname: 'a' } },
          ],
        },
      },
    ],
    ['a null in a rule', { default: null }],
  ])('has the same findings in a later version: %s', (_, edit) => {
    const bad = rules.with(70, rule(70, edit));
    const first = check(bad);
    check(rules);
    expect(check(bad)).toEqual(first);
    const moved = check([rule(-1), ...bad]);
    expect(JSON.stringify(moved)).toBe(JSON.stringify(first).replaceAll('[70]', '[71]'));
  });
});
