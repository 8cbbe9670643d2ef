import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../resource/types.ts';
import { parseRoute, parseStoredRoute, readableParents } from './parse-route.ts';
import { CONTROLLER_NAME, invalidStatus, routeStatus } from './route-status.ts';
import { toMeshRoutes } from './to-mesh-routes.ts';

/** The status of a route with one backend, which is there or not. */
function statusAt(second: number, isThere: boolean, former: Json): JsonObject {
  const parsed = parseRoute({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'r', namespace: 'shop' },
    spec: { parentRefs: [{ kind: 'Service', name: 'cart' }], rules: [{ backendRefs: [{ name: 'new', port: 80 }] }] },
  });
  if ('violations' in parsed) throw new Error(JSON.stringify(parsed.violations));
  const conversion = toMeshRoutes(parsed.route, ({ name, namespace }) =>
    name === 'new' && !isThere
      ? { missing: 'not yet' }
      : { found: { kind: 'MeshService', name, namespace, ports: [{ port: 80 }] } },
  );
  return routeStatus(conversion, { former, now: new Date(second * 1000) });
}

function conditionsOf(status: JsonObject): string[] {
  const [parent] = status['parents'] as {
    conditions: { type: string; status: string; reason: string; lastTransitionTime: string }[];
  }[];
  return (parent?.conditions ?? []).map(
    ({ type, status, reason, lastTransitionTime }) => `${type} ${status} ${reason} ${lastTransitionTime.slice(17, 19)}`,
  );
}

describe('routeStatus', () => {
  it('changes the time of a condition only when its status changes', () => {
    const missing = statusAt(1, false, {});
    expect(conditionsOf(missing)).toEqual([
      'Accepted True Accepted 01',
      'ResolvedRefs False DegradedRoutes 01',
      'PartiallyInvalid True BackendNotFound 01',
    ]);
    const still = statusAt(2, false, missing);
    expect(conditionsOf(still)).toEqual(conditionsOf(missing));
    const found = statusAt(3, true, still);
    expect(conditionsOf(found)).toEqual(['Accepted True Accepted 01', 'ResolvedRefs True ResolvedRefs 03']);
    expect(conditionsOf(statusAt(4, false, found))).toEqual([
      'Accepted True Accepted 01',
      'ResolvedRefs False DegradedRoutes 04',
      'PartiallyInvalid True BackendNotFound 04',
    ]);
  });

  it('finds its previous entry in any order of keys, and keeps the entries of other controllers', () => {
    const other = { controllerName: 'example.org/other', parentRef: { name: 'gateway' }, conditions: [] };
    const [mine] = statusAt(1, true, {})['parents'] as JsonObject[];
    const parentRef = Object.fromEntries(Object.entries(mine?.['parentRef'] as JsonObject).toReversed());
    const former = { parents: [other, { ...mine, parentRef }] };
    const after = statusAt(2, true, former);
    expect(conditionsOf(after)).toEqual(['Accepted True Accepted 01', 'ResolvedRefs True ResolvedRefs 01']);
    expect((after['parents'] as JsonObject[]).map((entry) => entry['controllerName'])).toEqual([
      CONTROLLER_NAME,
      'example.org/other',
    ]);
  });

  it.each<[Json]>([
    [null],
    ['x'],
    [[]],
    [{ parents: 'x' }],
    [{ parents: [null, { controllerName: CONTROLLER_NAME, conditions: {} }] }],
  ])('ignores the invalid previous status %j', (former) => {
    expect(conditionsOf(statusAt(5, true, former))).toEqual(['Accepted True Accepted 05', 'ResolvedRefs True ResolvedRefs 05']);
  });

  it('reports an unresolved reference and an invalid rule in one condition PartiallyInvalid', () => {
    const backendRefs = [{ name: 'cart', port: 80 }];
    const parsed = parseStoredRoute({
      ...{ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: { name: 'r' } },
      spec: {
        parentRefs: [{ kind: 'Service', name: 'cart' }],
        rules: [
          { backendRefs, name: 'bad', timeouts: { request: 'x' } },
          { backendRefs },
          { backendRefs: [{ name: 'new', port: 80 }] },
        ],
      },
    });
    if ('violations' in parsed) throw new Error(JSON.stringify(parsed.violations));
    const conversion = toMeshRoutes(parsed.route, ({ name }) =>
      name === 'new' ? { missing: 'not yet' } : { found: { kind: 'MeshService', name, ports: [{ port: 80 }] } },
    );
    const [parent] = routeStatus(conversion, { former: {}, now: new Date(0) })['parents'] as { conditions: JsonObject[] }[];
    expect(parent?.conditions.map(({ type, status, reason }) => [type, status, reason].join(' '))).toEqual([
      ...['Accepted True Accepted', 'ResolvedRefs False DegradedRoutes', 'PartiallyInvalid True BackendNotFound'],
    ]);
    expect(parent?.conditions[1]?.['message']).toBe('rule 2 is left out until every reference of it is found');
    expect(parent?.conditions[2]?.['message']).toMatch(
      /^Dropped Rules 0 \(bad\), 2: spec\.rules\[2\]\.backendRefs\[0\]: .*not yet; spec\.rules\[0\]\.timeouts\.request: must be/,
    );
  });

  it('reports an error to every readable parent of a document, and is stable', () => {
    const spec = { parentRefs: [{ kind: 'Service', name: 'cart' }, { name: 'gateway' }], rules: [] };
    const document = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: { name: 'r' }, spec };
    const parsed = parseRoute(document);
    const violations = 'violations' in parsed ? parsed.violations : [];
    const status = invalidStatus(readableParents(document), violations, { former: {}, now: new Date(1000) });
    expect(conditionsOf(status)).toEqual(['Accepted False UnsupportedValue 01']);
    expect(JSON.stringify(status)).toContain('spec.parentRefs[1].kind: must be given');
    expect(invalidStatus(readableParents(document), violations, { former: status, now: new Date(9000) })).toEqual(status);
  });
});
