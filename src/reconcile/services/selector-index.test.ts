import { describe, expect, it, vi } from 'vitest';
import { makeRow } from '../../../test/support/make-row.ts';
import type { JsonObject } from '../../resource/types.ts';
import { dataplaneFacts } from './dataplane-facts.ts';
import { dataplanePairs, isSelected, ItemIndex, SelectorIndex, serviceSelector } from './selector-index.ts';

const proxy = makeRow('Dataplane', 'proxy', {
  labels: { app: 'a', 'kuma.io/display-name': 'shown' },
  spec: {
    networking: {
      inbound: [
        { port: 80, tags: { app: 'a', tier: 'web' } },
        { port: 81, tags: { app: 'b', tier: 'admin' } },
      ],
    },
  },
});

/** Whether a MeshService of this selector selects the proxy. */
function selects(selector: JsonObject): boolean {
  const facts = dataplaneFacts(proxy);
  const index = new ItemIndex<string>();
  index.put(proxy.name, dataplanePairs(facts));
  return index.withAll(serviceSelector({ selector }) ?? []).length > 0 && isSelected(facts, { selector });
}

describe('the selector of a MeshService', () => {
  it.each<[string, JsonObject, boolean]>([
    ['the tags of one inbound', { dataplaneTags: { app: 'b', tier: 'admin' } }, true],
    ['tags of two inbounds', { dataplaneTags: { app: 'a', tier: 'admin' } }, false],
    ['one tag', { dataplaneTags: { tier: 'admin' } }, true],
    ['another value of a tag', { dataplaneTags: { tier: 'none' } }, false],
    ['its name', { dataplaneRef: { name: 'proxy' } }, true],
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
    ['a name', { dataplaneRef: { name: 'proxy' } }],
    ['labels', { dataplaneLabels: { matchLabels: { app: 'a' } } }],
  ])('ignores tags beside %s', (_, first) => {
    expect(selects({ ...first, dataplaneTags: { app: 'a', tier: 'admin' } })).toBe(true);
  });

  it('prefers the name to labels', () => {
    expect(selects({ dataplaneRef: { name: 'proxy' }, dataplaneLabels: { matchLabels: { app: 'none' } } })).toBe(true);
  });
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
