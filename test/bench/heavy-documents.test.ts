import { expect, test } from 'vitest';
import { dataplane, FIRST_HEAVY, longRoute, SERVICE, service } from '../../bench/heavy-documents.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { objectOf, textMapOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { serversOf, type Inbounds } from '../../src/xds/servers.ts';
import { makeRow } from '../support/make-row.ts';

function rowOf({ labels, spec, networking, name, type }: JsonObject): ReturnType<typeof makeRow> {
  return makeRow(String(type), String(name), {
    mesh: 'large',
    labels: { ...textMapOf(labels), 'kuma.io/zone': 'bench' },
    spec: { networking: objectOf(networking), ...objectOf(spec) },
  });
}

/** What a proxy receives of a Dataplane. */
function endpointsOf(document: JsonObject): readonly Inbounds[] {
  const [row, behind] = [rowOf(document), rowOf(service('large', SERVICE))];
  const found = serversOf(new MeshIndex('large', [makeRow('Mesh', 'large'), row, behind]), behind, 80).map(
    ({ ready, silent }) => ({ ready, silent }),
  );
  expect(found.flatMap(({ ready }) => ready)).toHaveLength(1);
  return found;
}

test('no change of the bench is what a heavy caller has stored: a proxy receives each', () => {
  const counts = [1, 2, 3, 84, 85, 1_999];
  const endpointOf = (count: number): string => JSON.stringify(endpointsOf(dataplane('large', 'proxy-1', 1, count)));
  const routeOf = (count: number): string => JSON.stringify(longRoute('hundred', count, 5));
  for (const documentOf of [endpointOf, routeOf]) {
    const stored = new Set(counts.map((count) => documentOf(FIRST_HEAVY + count)));
    expect(counts.filter((count) => stored.has(documentOf(count)))).toEqual([]);
    expect(new Set(counts.map(documentOf)).size).toBe(counts.length);
  }
});
