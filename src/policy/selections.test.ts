import { expect, it, vi } from 'vitest';
import { make, makeDataplane, type Made } from '../../test/policy/make-resource.ts';
import { fc } from '../../test/support/property.ts';
import type { JsonObject } from '../resource/types.ts';
import * as texts from '../base/compare-text.ts';
import { proxySelector } from './dataplane-selector.ts';
import { MeshIndex } from './mesh-index.ts';
import { byDisplayName } from './sorted-proxies.ts';

vi.mock(import('../base/compare-text.ts'), { spy: true });
const compared = vi.mocked(texts.compareText);

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

it('a change of one of 2,000 proxies compares it with few others, and selects none of them again', () => {
  const proxyOf = (at: number, revision: string): ReturnType<typeof makeDataplane> =>
    makeDataplane(`proxy-${String(at)}`, { labels: { app: 'cart', revision } }, {});
  const selecting = make('MeshService', 'cart', { selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } } });
  const index = new MeshIndex('default', [selecting, ...Array.from({ length: 2_000 }, (_, at) => proxyOf(at, '1'))]);
  const before = index.selections.proxiesOf(selecting);
  index.put(proxyOf(700, '2'));
  compared.mockClear();
  const after = index.selections.proxiesOf(selecting);
  expect(compared.mock.calls.length).toBeLessThan(50);
  expect(after.filter((proxy) => !before.includes(proxy)).map(({ displayName }) => displayName)).toEqual(['proxy-700']);
  expect(after).toHaveLength(2_000);
});

function expectScan(index: MeshIndex): void {
  const [proxies, services] = [[...index.proxies()], [...index.resources('MeshService')]];
  for (const service of services)
    expect(index.selections.proxiesOf(service)).toEqual(proxies.filter(proxySelector(service)).sort(byDisplayName));
  for (const proxy of proxies)
    expect(new Set(index.selections.servicesOf(proxy))).toEqual(new Set(services.filter((one) => proxySelector(one)(proxy))));
}
