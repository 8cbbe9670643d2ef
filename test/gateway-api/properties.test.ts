// Properties of every document: nothing throws, conversion and inverse agree, and a rule returns when its referent does.
import { fc } from '../support/property.ts';
import { describe, expect, it } from 'vitest';
import { checkRoute, documentOf, universalOf } from '../../src/gateway-api/stored-document.ts';
import { fromMeshRoute } from '../../src/gateway-api/from-mesh-route.ts';
import type { GatewayRoute } from '../../src/gateway-api/gateway-route.ts';
import { parseRoute } from '../../src/gateway-api/parse-route.ts';
import type { Resolver } from '../../src/gateway-api/service-resolver.ts';
import { routeStatus } from '../../src/gateway-api/route-status.ts';
import { toMeshRoutes, type DerivedResource } from '../../src/gateway-api/to-mesh-routes.ts';
import { policyRole } from '../../src/resource/policy-role.ts';
import { checkSpec } from '../../src/validation/check-spec.ts';
import { completeSpec } from '../../src/validation/complete-spec.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import type { Json, JsonObject } from '../../src/resource/types.ts';
import { arbitraryRoute } from './arbitrary-route.ts';

const findAll: Resolver = (ref) => ({
  found: {
    kind: ref.kind === 'MeshMultiZoneService' ? 'MeshMultiZoneService' : 'MeshService',
    name: ref.name,
    namespace: ref.namespace,
    ports: [{ port: 80, name: 'http', appProtocol: 'http' }, { port: 8080 }],
  },
});
const findSome: Resolver = (ref) =>
  ref.group === 'networking.acme.io' ? { foreign: 'custom' } : ref.name === 'partner' ? { missing: 'gone' } : findAll(ref);

function routeOf(document: JsonObject): GatewayRoute {
  const parsed = parseRoute(document);
  if ('violations' in parsed) throw new Error(JSON.stringify(parsed.violations));
  return parsed.route;
}

/** The document with one value inside it replaced by something else, wherever that is. */
const damaged = fc
  .tuple(arbitraryRoute, fc.nat(), fc.oneof(fc.jsonValue(), fc.constantFrom('__proto__', -1, {}, [], [null])), fc.boolean())
  .map(([document, at, value, isKey]) => {
    const copy = structuredClone(document);
    const places: { holder: Json[] | JsonObject; key: string }[] = [];
    const walk = (node: Json | undefined): void => {
      if (typeof node !== 'object' || node === null) return;
      for (const [key, child] of Object.entries(node)) {
        places.push({ holder: node, key });
        walk(child);
      }
    };
    walk(copy);
    const place = places[at % places.length];
    if (place === undefined) return copy;
    const key = isKey && !Array.isArray(place.holder) ? '__proto__' : place.key;
    Object.defineProperty(place.holder, key, { value, enumerable: true, configurable: true, writable: true });
    return copy;
  });

describe('every document', () => {
  it('is parsed or refused with a field, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(damaged, fc.jsonValue(), fc.anything()), (document) => {
        const parsed = parseRoute(document);
        if ('route' in parsed) {
          routeStatus(toMeshRoutes(parsed.route, findSome), { former: document as Json, now: new Date(0) });
          return;
        }
        expect(parsed.violations.length).toBeGreaterThan(0);
        for (const { field, reason } of parsed.violations) expect([field === '', reason === '']).toEqual([false, false]);
      }),
      { numRuns: 2000 },
    );
    expect(Object.prototype).not.toHaveProperty('weight');
  });

  it('is inverted or refused, and never throws', () => {
    const spec = fc.oneof(
      fc.jsonValue(),
      fc.record({
        to: fc.array(
          fc.record({
            targetRef: fc.jsonValue(),
            rules: fc.array(fc.record({ default: fc.jsonValue(), matches: fc.jsonValue() })),
          }),
        ),
      }),
    );
    fc.assert(
      fc.property(spec, fc.constantFrom('MeshHTTPRoute', 'MeshTCPRoute', 'Mesh'), (value, type) => {
        const outcome = fromMeshRoute({ type, mesh: 'default', name: 'a', labels: {}, spec: value as JsonObject });
        if ('violations' in outcome) expect(outcome.violations.length).toBeGreaterThan(0);
      }),
      { numRuns: 1000 },
    );
  });
});

/** A document with every kind of text that an author can choose, and the resources that it becomes. */
const everyText: JsonObject = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'r', namespace: 'shop' },
  spec: {
    parentRefs: [{ kind: 'Service', name: 'cart', namespace: 'shop', sectionName: 'http' }],
    rules: [
      {
        name: 'first',
        matches: [
          {
            path: { type: 'RegularExpression', value: '/a' },
            headers: [
              { type: 'RegularExpression', name: 'a', value: 'b' },
              { name: 'c', value: 'd' },
            ],
            queryParams: [
              { type: 'RegularExpression', name: 'a', value: 'b' },
              { name: 'c', value: 'd' },
            ],
          },
          { path: { type: 'Exact', value: '/a' } },
        ],
        filters: [
          {
            type: 'RequestHeaderModifier',
            requestHeaderModifier: { set: [{ name: 'a', value: 'b' }], add: [{ name: 'c', value: 'd' }], remove: ['e'] },
          },
          { type: 'ResponseHeaderModifier', responseHeaderModifier: { set: [{ name: 'a', value: 'b' }] } },
          { type: 'URLRewrite', urlRewrite: { hostname: 'a', path: { type: 'ReplaceFullPath', replaceFullPath: '/b' } } },
        ],
        backendRefs: [{ name: 'cart', namespace: 'shop', port: 80 }],
        timeouts: { request: '1s' },
      },
      {
        matches: [{ path: { value: '/a' } }],
        filters: [
          { type: 'RequestRedirect', requestRedirect: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/b' } } },
        ],
      },
    ],
  },
};
const oddTexts = [
  ...[
    '',
    ' ',
    'a(',
    '/a(',
    '[a',
    '*',
    '/(?!a).*',
    '(?<=a)b',
    '\\1',
    'a{1000}{1000}',
    '(a{1000}){5}',
    'Host',
    'host',
    'hOST',
    ':path',
  ],
  ...[
    '100%',
    '%%',
    '%REQ(:PATH)%',
    '%NOTHING%',
    'a\u0001',
    'a\tb',
    'a\u007f',
    'a\nb',
    'ü',
    '1.2.3',
    '1.2.3.4',
    '::1',
    'a..b',
    'A.b',
  ],
  ...['/', '//', '/a/', '/a//', '/.', '/..', '/./a', '/../a', '/%2F', '/#', '/a\u0001', 'a', '0s', '99999h', 'x'.repeat(300)],
  ...['ü'.repeat(600), 'x'.repeat(2000), '/\\x{100}', '/\\p{Cn}'],
];

describe('a document with an odd text in one field', () => {
  const places = (node: Json | undefined, path: readonly string[] = []): string[][] =>
    typeof node === 'string'
      ? [[...path]]
      : Object.entries((node ?? {}) as JsonObject).flatMap(([key, child]) => places(child, [...path, key]));
  const withText = (path: readonly string[], text: string): JsonObject => {
    const copy = structuredClone(everyText);
    const holder = path.slice(0, -1).reduce<JsonObject>((node, key) => node[key] as JsonObject, copy);
    holder[path.at(-1) ?? ''] = text;
    return copy;
  };

  it.each(places(everyText['spec'], ['spec']).map((path) => [path.join('.'), path] as const))(
    'is refused, or becomes resources that are valid in their schemas: %s',
    (_, path) => {
      for (const text of oddTexts) {
        const parsed = parseRoute(withText(path, text));
        const resources = 'route' in parsed ? toMeshRoutes(parsed.route, findAll).resources : [];
        for (const { type, ...resource } of resources)
          expect(checkSpec(typeOf(type), resource, { strict: true }).violations, text).toEqual([]);
      }
    },
  );

  it('is accepted without it', () => {
    expect(toMeshRoutes(routeOf(everyText), findAll).resources).toHaveLength(3);
  });
});

/** With the defaults of its schema, which every write adds. */
function asStored(resource: DerivedResource): DerivedResource {
  return { ...resource, spec: completeSpec(resource.type, resource.spec) };
}

describe('every valid document', () => {
  it('is converted back to a document that gives the same resources, as they are stored', () => {
    fc.assert(
      fc.property(arbitraryRoute, (document) => {
        const { resources, resolved } = toMeshRoutes(routeOf(document), findAll);
        expect(resources.length > 0).toBe(resolved.parents.some(({ target }) => 'targetRef' in target));
        const stored = resources.map(asStored);
        for (const route of stored.filter(({ type }) => type !== 'MeshTimeout')) {
          const timeout = stored.find(({ type, name }) => type === 'MeshTimeout' && name === route.name);
          const inverse = fromMeshRoute(route, { timeout, resolve: findAll });
          if ('violations' in inverse) throw new Error(JSON.stringify(inverse.violations));
          expect(toMeshRoutes(routeOf(inverse.document), findAll).resources.map(asStored)).toEqual(
            timeout === undefined ? [route] : [route, timeout],
          );
        }
      }),
      { numRuns: 500 },
    );
  });

  it('gives resources that are valid in their schemas', () => {
    fc.assert(
      fc.property(arbitraryRoute, (document) => {
        for (const { type, ...resource } of toMeshRoutes(routeOf(document), findAll).resources)
          expect(checkSpec(typeOf(type), resource, { strict: true }).violations).toEqual([]);
      }),
    );
  });

  it('is valid in Universal form, and is read back from its row as an equivalent document', () => {
    fc.assert(
      fc.property(arbitraryRoute, (document) => {
        const read = universalOf(document);
        if ('violation' in read) throw new Error(JSON.stringify(read.violation));
        const row = read.body as unknown as Parameters<typeof documentOf>[0];
        expect(checkRoute(row)).toEqual([]);
        expect(routeOf(documentOf(row))).toEqual(routeOf(document));
        expect(universalOf(documentOf(row))).toEqual(read);
      }),
    );
  });

  it('gives resources with one role and distinct names', () => {
    fc.assert(
      fc.property(arbitraryRoute, (document) => {
        const { resources } = toMeshRoutes(routeOf(document), findAll);
        for (const resource of resources) expect(policyRole(resource)).toMatch(/^(producer|consumer)$/);
        const keys = resources.map(({ type, name }) => `${type} ${name}`);
        expect(new Set(keys).size).toBe(keys.length);
      }),
    );
  });

  it('loses exactly the rules with an unresolved reference, until the reference is resolved', () => {
    fc.assert(
      fc.property(arbitraryRoute, (document) => {
        const route = routeOf(document);
        const degraded = toMeshRoutes(route, findSome);
        const broken = new Set(degraded.resolved.broken.map(({ rule }) => rule));
        expect(degraded.resolved.rules).toEqual(route.rules.filter((_, index) => !broken.has(index)));
        const before = routeStatus(degraded, { former: undefined, now: new Date(0) });
        expect(JSON.stringify(before).includes('DegradedRoutes')).toBe(broken.size > 0);
        const mended = toMeshRoutes(route, findAll);
        const after = JSON.stringify(routeStatus(mended, { former: before, now: new Date(1000) }));
        expect([mended.resolved.rules.length, after.includes('DegradedRoutes'), after.includes('PartiallyInvalid')]).toEqual([
          route.rules.length,
          false,
          false,
        ]);
      }),
    );
  });

  it('has a status that does not change at a second pass', () => {
    fc.assert(
      fc.property(arbitraryRoute, fc.constantFrom(findAll, findSome), (document, resolve) => {
        const conversion = toMeshRoutes(routeOf(document), resolve);
        const once = routeStatus(conversion, { former: {}, now: new Date(0) });
        expect(routeStatus(conversion, { former: once, now: new Date(9999) })).toEqual(once);
      }),
    );
  });
});
