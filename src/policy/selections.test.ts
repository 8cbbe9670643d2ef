import { expect, it } from 'vitest';
import { make, makeDataplane, type Made } from '../../test/policy/make-resource.ts';
import { fc } from '../../test/support/property.ts';
import type { JsonObject } from '../resource/types.ts';
import { proxySelector } from './dataplane-selector.ts';
import { MeshIndex } from './mesh-index.ts';

const name = fc.constantFrom('a', 'b', 'c');
const pairs = fc.dictionary(fc.constantFrom('app', 'tier'), fc.constantFrom('x', 'y'), { maxKeys: 2 });
const place: fc.Arbitrary<Made> = fc.record({ zone: fc.constantFrom('east', 'west'), namespace: fc.constantFrom('', 'shop') });
const selector: fc.Arbitrary<JsonObject> = fc.oneof(
  name.map((of) => ({ dataplaneRef: { name: of } })),
  pairs.map((matchLabels) => ({ dataplaneLabels: { matchLabels } })),
  pairs.map((tags) => ({ dataplaneTags: tags })),
  fc.constant({}),
);
const row = fc.oneof(
  fc
    .tuple(name, place, pairs, fc.array(pairs, { maxLength: 2 }))
    .map(([of, at, labels, tags]) =>
      makeDataplane(of, { ...at, labels }, { inbound: tags.map((own, position) => ({ port: 80 + position, tags: own })) }),
    ),
  fc.tuple(name, place, selector).map(([of, at, selects]) => make('MeshService', of, { selector: selects }, at)),
);
const step = fc.record({ row, isPut: fc.boolean(), asks: fc.boolean() });

it('MeshServices and Dataplanes find each other as a scan of the mesh does, after any puts and removes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const index = new MeshIndex('default');
      for (const { row: changed, isPut, asks } of steps) {
        if (isPut) index.put(changed);
        else index.remove(changed);
        if (asks) expectScan(index);
      }
      expectScan(index);
    }),
  );
});

function expectScan(index: MeshIndex): void {
  const [proxies, services] = [[...index.proxies()], [...index.resources('MeshService')]];
  for (const service of services)
    expect(new Set(index.selections.proxiesOf(service))).toEqual(new Set(proxies.filter(proxySelector(service))));
  for (const proxy of proxies)
    expect(new Set(index.selections.servicesOf(proxy))).toEqual(new Set(services.filter((one) => proxySelector(one)(proxy))));
}
