import { describe, expect, it } from 'vitest';
import { fc } from '../../test/support/property.ts';
import { makeRow } from '../../test/support/make-row.ts';
import type { JsonObject, Labels, Resource } from '../resource/types.ts';
import { parseDataplane } from './dataplane-proxy.ts';
import { dataplaneMatcher, dataplanePairs, serviceSelector } from './dataplane-selector.ts';
import { ItemIndex, SelectorIndex } from './selector-index.ts';

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
  const dataplane = parseDataplane(proxy);
  const index = new ItemIndex<string>();
  index.put(proxy.name, dataplanePairs(dataplane));
  const service = serviceWith(selector, labels);
  const isSelected = dataplaneMatcher(service)(dataplane);
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
    expect([...index.selecting(dataplanePairs(parseDataplane(proxy)))]).toEqual([]);
  });

  it('selects a Dataplane if one inbound has all tags, with any inbounds', () => {
    const tags = fc.dictionary(fc.constantFrom('app', 'tier', 'env'), fc.constantFrom('a', 'b'), { maxKeys: 3 });
    fc.assert(
      fc.property(fc.array(tags, { maxLength: 3 }), tags, (inbounds, wanted) => {
        const inbound = inbounds.map((own, at) => ({ port: 80 + at, tags: own }));
        const dataplane = parseDataplane(makeRow('Dataplane', 'proxy', { spec: { networking: { inbound } } }));
        const hasAll = (own: Record<string, string>): boolean =>
          Object.entries(wanted).every(([key, value]) => own[key] === value);
        const expected = Object.keys(wanted).length > 0 && inbounds.some(hasAll);
        expect(dataplaneMatcher(serviceWith({ dataplaneTags: wanted }))(dataplane)).toBe(expected);
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
