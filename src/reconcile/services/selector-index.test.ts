import { describe, expect, it, vi } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import { makeRow } from '../../../test/support/make-row.ts';
import type { JsonObject, Labels, Resource } from '../../resource/types.ts';
import { dataplaneFacts } from './dataplane-facts.ts';
import { dataplanePairs, ItemIndex, SelectorIndex, selectorOf, serviceSelector } from './selector-index.ts';

const proxy = makeRow('Dataplane', 'shown.shop', {
  labels: { app: 'a', 'kuma.io/display-name': 'shown', 'k8s.kuma.io/namespace': 'shop' },
  spec: {
    networking: {
      inbound: [
        { port: 80, tags: { app: 'a', tier: 'web' } },
        { port: 81, tags: { app: 'b', tier: 'admin' } },
      ],
    },
  },
});

const serviceWith = (selector: JsonObject, labels: Labels = {}): Resource =>
  makeRow('MeshService', 'service', { labels, spec: { selector } });

/** Whether a MeshService of this selector selects the proxy. The pairs of its selector find it then. */
function selects(selector: JsonObject, labels: Labels = {}): boolean {
  const facts = dataplaneFacts(proxy);
  const index = new ItemIndex<string>();
  index.put(proxy.name, dataplanePairs(facts));
  const service = serviceWith(selector, labels);
  const isSelected = selectorOf(service)(facts);
  if (isSelected) expect(index.withAll(serviceSelector(service) ?? [])).toEqual([proxy.name]);
  return isSelected;
}

describe('the selector of a MeshService', () => {
  it.each<[string, JsonObject, boolean]>([
    ['the tags of one inbound', { dataplaneTags: { app: 'b', tier: 'admin' } }, true],
    ['tags of two inbounds', { dataplaneTags: { app: 'a', tier: 'admin' } }, false],
    ['one tag', { dataplaneTags: { tier: 'admin' } }, true],
    ['another value of a tag', { dataplaneTags: { tier: 'none' } }, false],
    ['its name', { dataplaneRef: { name: 'shown.shop' } }, true],
    ['its display name', { dataplaneRef: { name: 'shown' } }, true],
    ['another name', { dataplaneRef: { name: 'other' } }, false],
    ['its labels', { dataplaneLabels: { matchLabels: { app: 'a' } } }, true],
    ['other labels', { dataplaneLabels: { matchLabels: { app: 'b' } } }, false],
    ['no labels', { dataplaneLabels: {} }, false],
    ['nothing', {}, false],
  ])('selects a Dataplane by %s, or does not', (_, selector, expected) => {
    expect(selects(selector)).toBe(expected);
  });

  it.each<[string, JsonObject]>([
    ['labels', { dataplaneLabels: { matchLabels: { app: 'a' } } }],
    ['tags', { dataplaneTags: { app: 'b', tier: 'admin' } }],
    ['a name', { dataplaneRef: { name: 'shown' } }],
    ['the name of the row', { dataplaneRef: { name: 'shown.shop' } }],
  ])('selects by %s in the namespace of the MeshService alone', (_, selector) => {
    expect(selects(selector, { 'k8s.kuma.io/namespace': 'shop' })).toBe(true);
    expect(selects(selector, { 'k8s.kuma.io/namespace': 'other' })).toBe(false);
    const index = new SelectorIndex();
    index.put('other', serviceSelector(serviceWith(selector, { 'k8s.kuma.io/namespace': 'other' })));
    expect([...index.selecting(dataplanePairs(dataplaneFacts(proxy)))]).toEqual([]);
  });

  it('selects a Dataplane if one inbound has all tags, with any inbounds', () => {
    const tags = fc.dictionary(fc.constantFrom('app', 'tier', 'env'), fc.constantFrom('a', 'b'), { maxKeys: 3 });
    fc.assert(
      fc.property(fc.array(tags, { maxLength: 3 }), tags, (inbounds, wanted) => {
        const inbound = inbounds.map((own, at) => ({ port: 80 + at, tags: own }));
        const facts = dataplaneFacts(makeRow('Dataplane', 'proxy', { spec: { networking: { inbound } } }));
        const hasAll = (own: Record<string, string>): boolean =>
          Object.entries(wanted).every(([key, value]) => own[key] === value);
        const expected = Object.keys(wanted).length > 0 && inbounds.some(hasAll);
        expect(selectorOf(serviceWith({ dataplaneTags: wanted }))(facts)).toBe(expected);
      }),
    );
  });

  it.each<[string, JsonObject]>([
    ['a name', { dataplaneRef: { name: 'shown' } }],
    ['labels', { dataplaneLabels: { matchLabels: { app: 'a' } } }],
  ])('ignores tags beside %s', (_, first) => {
    expect(selects({ ...first, dataplaneTags: { app: 'a', tier: 'admin' } })).toBe(true);
  });

  it('prefers the name to labels', () => {
    expect(selects({ dataplaneRef: { name: 'shown' }, dataplaneLabels: { matchLabels: { app: 'none' } } })).toBe(true);
  });
});

type Pair = readonly [key: string, value: string];
const pairArbitrary = fc.tuple(fc.constantFrom('app', 'tier'), fc.constantFrom('a', 'b')).map((pair): Pair => pair);
const pairsArbitrary = fc.uniqueArray(pairArbitrary, { maxLength: 4, selector: (pair) => pair.join() });
const stepArbitrary = fc.record({ item: fc.constantFrom('x', 'y', 'z'), pairs: fc.option(pairsArbitrary) });
const hasAll = (pairs: readonly Pair[], of: readonly Pair[]): boolean =>
  of.every(([key, value]) => pairs.some((pair) => pair[0] === key && pair[1] === value));

it('both indexes find what a search of all entries finds, after any changes', () => {
  fc.assert(
    fc.property(fc.array(stepArbitrary, { maxLength: 12 }), pairsArbitrary, (steps, wanted) => {
      const [items, selectors] = [new ItemIndex<string>(), new SelectorIndex()];
      const entries = new Map<string, readonly Pair[]>();
      for (const { item, pairs } of steps) {
        for (const index of [items, selectors]) {
          if (pairs === null) index.remove(item);
          else index.put(item, pairs);
        }
        if (pairs === null) entries.delete(item);
        else entries.set(item, pairs);
      }
      const found = (isFound: (pairs: readonly Pair[]) => boolean): string[] =>
        [...entries].flatMap(([item, pairs]) => (isFound(pairs) ? [item] : [])).sort();
      expect(items.withAll(wanted).sort()).toEqual(found((pairs) => wanted.length > 0 && hasAll(pairs, wanted)));
      expect([...selectors.selecting(wanted)].sort()).toEqual(found((pairs) => pairs.length > 0 && hasAll(wanted, pairs)));
      for (const item of ['x', 'y', 'z']) expect(selectors.pairsOf(item)).toEqual(entries.get(item) ?? []);
    }),
  );
});

it('a selector of nothing replaces the last one', () => {
  const index = new SelectorIndex();
  index.put('x', [['app', 'a']]);
  index.put('x', null);
  expect([[...index.selecting([['app', 'a']])], index.pairsOf('x')]).toEqual([[], []]);
});

it('a lookup of items visits those of the rarest pair', () => {
  const index = new ItemIndex<number>();
  for (let n = 0; n < 100; n += 1) index.put(n, n === 7 ? [['env', 'prod'], ['app', 'a']] : [['env', 'prod']]); // oxfmt-ignore
  const visits = vi.spyOn(Set.prototype, 'has');
  const found = index.withAll([['env', 'prod'], ['app', 'a']]); // oxfmt-ignore
  const { length } = visits.mock.calls;
  visits.mockRestore();
  expect([found, length]).toEqual([[7], 1]);
});

it('a lookup visits few selectors that do not match, as each is under its rarest pair', () => {
  const index = new SelectorIndex();
  for (let n = 0; n < 100; n += 1)
    index.put(String(n), [
      ['env', 'prod'],
      ['app', String(n)],
    ]);
  const visits = vi.spyOn(index, 'pairsOf');
  expect([
    ...index.selecting([
      ['app', '7'],
      ['env', 'prod'],
    ]),
  ]).toEqual(['7']);
  expect(visits.mock.calls.length).toBeLessThanOrEqual(2);
});
