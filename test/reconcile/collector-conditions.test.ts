// The conditions about MeshOpenTelemetryBackends agree with the collectors that proxies get.
import { describe, expect, it } from 'vitest';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { placeOf } from '../../src/policy/parse-policy.ts';
import { BackendRefsView } from '../../src/reconcile/backend-refs/backend-refs-view.ts';
import { planConditions } from '../../src/reconcile/backend-refs/plan-conditions.ts';
import { objectsOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject, Labels, Resource } from '../../src/resource/types.ts';
import { collectorOf } from '../../src/xds/open-telemetry.ts';
import { makeRow } from '../support/make-row.ts';

const EAST = { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east' };
const BY_NAME = { name: 'otel' };
const BY_LABELS = { labels: { team: 'x' } };
const inShop = { 'k8s.kuma.io/namespace': 'shop' };
const named = { 'kuma.io/display-name': 'otel' };

/** The address of a backend is its stored name. */
function backend(name: string, labels: Labels, created = 0): Resource {
  const fields = { labels, spec: { endpoint: { address: name } }, creationTime: new Date(created) };
  return makeRow('MeshOpenTelemetryBackend', name, fields);
}

function policy(ref: JsonObject, labels: Labels): Resource {
  const backends = [{ type: 'OpenTelemetry', openTelemetry: { backendRef: { kind: 'MeshOpenTelemetryBackend', ...ref } } }];
  return makeRow('MeshAccessLog', 'log', { labels, spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { backends } }] } });
}

/** The reason of the first condition of each row, by name. */
function reasons(rows: readonly Resource[]): Record<string, string> {
  const view = new BackendRefsView('east');
  for (const row of rows) view.put(row);
  const written = planConditions(view).flatMap((write) => (write.op === 'put' ? [write.row] : []));
  return Object.fromEntries(written.map(({ name, status }) => [name, textOf(objectsOf(status['conditions'])[0]?.['reason'])]));
}

describe('a MeshOpenTelemetryBackend is Referenced exactly where a proxy sends to it', () => {
  it.each<[what: string, backends: Resource[], ref: JsonObject, place: Labels, expected: string | undefined]>([
    ['a policy of a namespace, a backend without one', [backend('a', named)], BY_NAME, { ...EAST, ...inShop }, undefined],
    ['a policy of a namespace, a backend of it', [backend('a', { ...named, ...inShop })], BY_NAME, { ...EAST, ...inShop }, 'a'],
    ['a policy without a namespace', [backend('a', { ...named, ...inShop }), backend('b', named, 1)], BY_NAME, {}, 'b'],
    ['a policy of the zone', [backend('a', named), backend('b', { ...named, ...EAST }, 1)], BY_NAME, EAST, 'b'],
    ['labels of two backends', [backend('a', { team: 'x' }, 1), backend('b', { team: 'x' })], BY_LABELS, {}, 'b'],
    ['labels of two backends of one age', [backend('b', { team: 'x' }), backend('a', { team: 'x' })], BY_LABELS, {}, 'a'],
    ['no backend', [backend('a', { team: 'y' })], BY_LABELS, {}, undefined],
  ])('%s', (_, backends, ref, place, expected) => {
    const log = policy(ref, place);
    const rows = [...backends, log];
    const backendRef = { kind: 'MeshOpenTelemetryBackend', ...ref };
    const collector = collectorOf(new MeshIndex('default', rows), { backendRef }, placeOf(log), 'east', { companion: null });
    expect(collector?.address).toBe(expected);
    expect(reasons(rows)).toEqual({
      ...Object.fromEntries(backends.map(({ name }) => [name, name === expected ? 'Referenced' : 'NotReferenced'])),
      log: expected === undefined ? 'UnresolvedBackendRefs' : 'AllBackendRefsResolved',
    });
  });
});
