// The table of policies 1.8, row by row, with D10 and D11.
import { fc } from '../../test/support/property.ts';
import { describe, expect, it } from 'vitest';
import { make, makeTo, type Made } from '../../test/policy/make-resource.ts';
import type { JsonObject } from '../resource/types.ts';
import { parsePolicy, type ToItem } from './parse-policy.ts';
import { consumersLast, mergeOrdered, ruleOrder, toOrder } from './precedence.ts';

type Row = { top?: JsonObject; to?: JsonObject; made?: Made; name?: string };

function itemOf({ top, to = { kind: 'Mesh' }, made = {}, name = 'policy' }: Row): ToItem {
  const [item] = parsePolicy(makeTo('MeshTimeout', name, to, {}, made, top), 1).to;
  if (item === undefined) throw new Error('no item');
  return item;
}

const TOP_KINDS = [
  'Mesh',
  'Dataplane',
  'MeshSubset',
  'MeshGateway',
  'MeshService',
  'MeshExternalService',
  'MeshMultiZoneService',
  'MeshServiceSubset',
  'MeshHTTPRoute',
];
const ZONE = { zone: 'east' };
const SERVICE = { kind: 'MeshService', name: 'backend' };

/** Weaker, stronger. */
const rows: [string, Row, Row][] = [
  ...TOP_KINDS.slice(1).map((kind, at): [string, Row, Row] => [
    `1: top-level ${TOP_KINDS[at] ?? ''} < ${kind}, whatever the rest`,
    {
      top: { kind: TOP_KINDS[at] ?? '' },
      made: { ...ZONE, role: 'consumer' },
      to: { kind: 'MeshHTTPRoute', name: 'r' },
      name: 'a',
    },
    { top: { kind }, name: 'z' },
  ]),
  [
    '2: Dataplane by labels < by name',
    { top: { kind: 'Dataplane', labels: { a: 'b' }, sectionName: 's' } },
    { top: { kind: 'Dataplane', name: 'n' } },
  ],
  [
    '2: Dataplane sectionName unset < set',
    { top: { kind: 'Dataplane', name: 'n' }, made: ZONE },
    { top: { kind: 'Dataplane', name: 'n', sectionName: 's' } },
  ],
  ['3: origin global < absent', { made: { origin: 'global', role: 'workload-owner' } }, { made: { origin: '' } }],
  ['3: origin absent < zone', { made: { origin: '', role: 'workload-owner' } }, { made: ZONE }],
  ['3: a producer policy of another zone counts as global', { made: { zone: 'west', role: 'producer' } }, { made: ZONE }],
  [
    '3: a producer policy of another zone < origin absent',
    { made: { zone: 'west', role: 'producer' } },
    { made: { origin: '' } },
  ],
  ['4: role system < producer', { made: ZONE, to: SERVICE }, { made: { ...ZONE, role: 'producer' } }],
  ['4: role producer < consumer', { made: { ...ZONE, role: 'producer' }, to: SERVICE }, { made: { ...ZONE, role: 'consumer' } }],
  [
    '4: role consumer < workload-owner',
    { made: { ...ZONE, role: 'consumer' }, to: SERVICE },
    { made: { ...ZONE, role: 'workload-owner' } },
  ],
  ['5: to Mesh < MeshService', { name: 'a' }, { to: SERVICE, name: 'z' }],
  ['5: to MeshService < MeshExternalService', { to: SERVICE, name: 'a' }, { to: { kind: 'MeshExternalService' }, name: 'z' }],
  [
    '5: to MeshExternalService < MeshMultiZoneService',
    { to: { kind: 'MeshExternalService' }, name: 'a' },
    { to: { kind: 'MeshMultiZoneService' }, name: 'z' },
  ],
  [
    '5: to MeshMultiZoneService < MeshHTTPRoute',
    { to: { kind: 'MeshMultiZoneService' }, name: 'a' },
    { to: { kind: 'MeshHTTPRoute' }, name: 'z' },
  ],
  [
    '5, D11: to MeshMultiZoneService < MeshTCPRoute',
    { to: { kind: 'MeshMultiZoneService' }, name: 'a' },
    { to: { kind: 'MeshTCPRoute' }, name: 'z' },
  ],
  [
    '5: to MeshService sectionName unset < set',
    { to: SERVICE, name: 'a' },
    { to: { ...SERVICE, sectionName: 'http' }, name: 'z' },
  ],
  [
    '5: to MeshMultiZoneService knows no sectionName, so row 6 decides',
    { to: { kind: 'MeshMultiZoneService', name: 'backend', sectionName: 'http' }, name: 'b' },
    { to: { kind: 'MeshMultiZoneService', name: 'backend' }, name: 'a' },
  ],
  ['6: the smaller display name is stronger', { name: 'b' }, { name: 'a' }],
];

describe('the order of items', () => {
  it.each(rows)('row %s', (_, weaker, stronger) => {
    const order = toOrder('east');
    expect(order(itemOf(weaker), itemOf(stronger))).toBeLessThan(0);
    expect(order(itemOf(stronger), itemOf(weaker))).toBeGreaterThan(0);
  });

  it('row 7: in one policy the later item is stronger', () => {
    const { to } = parsePolicy(
      make('MeshTimeout', 'p', { to: [{ targetRef: { kind: 'Mesh' } }, { targetRef: { kind: 'Mesh' } }] }),
      1,
    );
    expect(to.toSorted(toOrder('')).map(({ index }) => index)).toEqual([0, 1]);
  });

  it('has no row 5 for rules', () => {
    expect(ruleOrder('east')(itemOf({ to: SERVICE, name: 'b' }), itemOf({ name: 'a' }))).toBeLessThan(0);
  });

  it('D10: consumer items come after producer items for all top-level kinds, in the same order otherwise', () => {
    const consumer = itemOf({ made: { ...ZONE, role: 'consumer' }, name: 'consumer' });
    const system = itemOf({ top: { kind: 'MeshSubset', tags: { a: 'b' } }, name: 'system' });
    const producer = itemOf({ top: { kind: 'Dataplane' }, made: { ...ZONE, role: 'producer' }, name: 'producer' });
    const names = (items: readonly ToItem[]): string[] => items.map(({ policy }) => policy.displayName);
    expect(names(consumersLast([consumer, producer, system].sort(toOrder('east'))))).toEqual(['producer', 'consumer', 'system']);
    expect(names(consumersLast([consumer, system].sort(toOrder('east'))))).toEqual(['consumer', 'system']);
  });

  it('keeps equal items of the first list before those of the second', () => {
    const byRank = (a: string, b: string): number => a.charCodeAt(0) - b.charCodeAt(0);
    // A proxy without items of its own shares the list of the others.
    const list = ['1 first', '2 first'];
    expect(mergeOrdered(list, [], byRank)).toBe(list);
    expect(mergeOrdered([], list, byRank)).toBe(list);
    expect(mergeOrdered(list, ['1 second', '2 second'], byRank)).toEqual(['1 first', '1 second', '2 first', '2 second']);
  });

  it('is a total order independent of arrival, and merges two sorted lists to a sorted list', () => {
    const row = fc.record({
      kind: fc.constantFrom(...TOP_KINDS),
      zone: fc.constantFrom('east', 'west', undefined),
      role: fc.constantFrom('system', 'producer', 'consumer', 'workload-owner'),
      to: fc.constantFrom('Mesh', 'MeshService', 'MeshHTTPRoute'),
      name: fc.constantFrom('a', 'b', 'c'),
    });
    const rows = fc.uniqueArray(row, { selector: (value) => JSON.stringify(value), maxLength: 12 });
    fc.assert(
      fc.property(rows, fc.nat(12), (given, cut) => {
        const order = toOrder('east');
        const items = given.map(({ kind, zone, role, to, name }, at) =>
          itemOf({
            top: { kind },
            to: { kind: to },
            name,
            made: { role, labels: { at: String(at) }, ...(zone !== undefined && { zone }) },
          }),
        );
        const key = ({ policy, targetRef }: ToItem): string =>
          JSON.stringify([policy.kri, policy.role, policy.targetRef.kind, targetRef.kind]);
        const sorted = items.toSorted(order).map(key);
        expect(items.toReversed().sort(order).map(key)).toEqual(sorted);
        const halves = [items.slice(0, cut).sort(order), items.slice(cut).sort(order)] as const;
        expect(mergeOrdered(...halves, order).map(key)).toEqual(sorted);
      }),
    );
  });
});
