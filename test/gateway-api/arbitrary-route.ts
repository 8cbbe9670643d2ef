// Arbitrary valid Gateway API documents for properties: both kinds, both spellings, every supported feature.
import { fc } from '../support/property.ts';
import type { JsonObject } from '../../src/resource/types.ts';

const name = fc.constantFrom('cart', 'cart-v2', 'catalog', 'partner');
const namespace = fc.constantFrom('shop', 'warehouse');
const path = fc.constantFrom('/', '/a', '/a/', '/a/b', '/api/v2/');
const port = fc.constantFrom(80, 8080);
const header = fc.constantFrom('X-Version', 'x-color', 'Authorization');
const value = fc.constantFrom('one', 'b.*', '1, 2');
const hostname = fc.constantFrom('a.example.org', 'internal');

const ref = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ name, namespace, kind: fc.constantFrom('Service', 'service') }, { requiredKeys: ['name'] }),
  },
  fc.record({ name, group: fc.constant('kuma.io'), kind: fc.constantFrom('MeshService', 'MeshMultiZoneService') }),
  fc.record({ name, group: fc.constant('networking.acme.io'), kind: fc.constant('server') }),
);
const weight = fc.oneof(fc.constantFrom(0, 1, 1_000_000), fc.integer({ min: 0, max: 1_000_000 }));
const backend = fc.record({ ref, port, weight }, { requiredKeys: ['ref', 'port'] });
const backends = fc
  .array(backend, { minLength: 1, maxLength: 3 })
  .chain((list) =>
    fc
      .boolean()
      .map((isToday): JsonObject =>
        isToday
          ? { backendRefs: list.map(({ ref: object, ...rest }) => ({ ...object, ...rest })) }
          : { forwardTo: list.map(({ ref: object, ...rest }) => ({ backendRef: object, ...rest })) },
      ),
  );

const named = (names: fc.Arbitrary<string>): fc.Arbitrary<JsonObject[]> =>
  fc.uniqueArray(fc.record({ type: fc.constantFrom('Exact', 'RegularExpression'), name: names, value }), {
    selector: (item) => item.name.toLowerCase(),
    maxLength: 3,
  });
const match = (isPrefix: boolean): fc.Arbitrary<JsonObject> =>
  fc.record(
    {
      path: fc.record({
        type: isPrefix ? fc.constant('PathPrefix') : fc.constantFrom('Exact', 'PathPrefix', 'RegularExpression'),
        value: path,
      }),
      method: fc.constantFrom('GET', 'POST'),
      headers: named(header),
      queryParams: named(fc.constantFrom('color', 'Color', 'debug')),
    },
    { requiredKeys: ['path'] },
  );

const modifier = fc
  .shuffledSubarray(['X-One', 'x-two', 'x-three'], { minLength: 3, maxLength: 3 })
  .chain(([set = '', add = '', remove = '']) =>
    fc.record(
      {
        set: fc.constant([{ name: set, value: '1' }]),
        add: fc.constant([{ name: add, value: '2' }]),
        remove: fc.constant([remove]),
      },
      { requiredKeys: ['set'] },
    ),
  );
const pathModifier = fc.oneof(
  fc.record({ type: fc.constant('ReplaceFullPath'), replaceFullPath: path }),
  fc.record({ type: fc.constant('ReplacePrefixMatch'), replacePrefixMatch: path }),
);
const redirect = fc.record(
  {
    scheme: fc.constantFrom('http', 'https'),
    hostname,
    path: pathModifier,
    port,
    statusCode: fc.constantFrom(301, 302, 303, 307, 308),
  },
  { requiredKeys: [] },
);
const mirror = fc
  .tuple(
    fc.record({ name, port }),
    fc.oneof(
      fc.constant({}),
      fc.record({ percent: fc.integer({ min: 0, max: 100 }) }),
      fc.integer({ min: 1, max: 5000 }).chain((denominator) =>
        fc.record({
          fraction: fc.record({ numerator: fc.integer({ min: 0, max: denominator }), denominator: fc.constant(denominator) }),
        }),
      ),
    ),
  )
  .map(([backendRef, amount]): JsonObject => ({ backendRef, ...amount }));
const rewrite = fc.record({ hostname, path: pathModifier }, { requiredKeys: ['hostname'] });
const filters = fc
  .record(
    { requestHeaderModifier: modifier, responseHeaderModifier: modifier, urlRewrite: rewrite, requestMirror: mirror },
    { requiredKeys: [] },
  )
  .map((confs) =>
    Object.entries(confs).map(([key, conf]) => ({
      type: key.replace(/^./, (first) => first.toUpperCase()).replace('Url', 'URL'),
      [key]: conf,
    })),
  );

const timeouts = fc.record({ request: fc.constantFrom('0s', '10s', '1m30s', '90s', '500ms', '1h1ms') });
const backendFilters = fc
  .record({ requestHeaderModifier: modifier, responseHeaderModifier: modifier }, { requiredKeys: [] })
  .map((confs) =>
    Object.entries(confs).map(([key, conf]) => ({ type: key.replace(/^./, (first) => first.toUpperCase()), [key]: conf })),
  );
/** Backends of an HTTPRoute: one in backendRefs may modify headers. */
const filteringBackends = fc.tuple(backends, fc.option(backendFilters)).map(([list, own]): JsonObject => {
  if (own === null || !('backendRefs' in list)) return list;
  const [first, ...others] = list['backendRefs'] as JsonObject[];
  return { backendRefs: [{ ...first, filters: own as unknown as JsonObject[] }, ...others] };
});
const forwardingRule = fc
  .tuple(
    filteringBackends,
    fc.record({ matches: fc.array(match(true), { maxLength: 2 }), filters, timeouts }, { requiredKeys: [] }),
  )
  .map(([list, rest]) => ({ ...list, ...rest }));
const plainRule = fc
  .tuple(backends, fc.record({ matches: fc.array(match(false), { maxLength: 2 }), timeouts }, { requiredKeys: [] }))
  .map(([list, rest]) => ({ ...list, ...rest }));
const redirectRule = fc.record({
  matches: fc.array(match(true), { maxLength: 2 }),
  filters: redirect.map((conf) => [{ type: 'RequestRedirect', requestRedirect: conf }]),
});

const parentRefs = fc.uniqueArray(
  fc.record(
    { kind: fc.constant('Service'), name, namespace, port: port, sectionName: fc.constant('http') },
    { requiredKeys: ['kind', 'name'] },
  ),
  {
    minLength: 1,
    maxLength: 3,
    selector: (parent) => JSON.stringify([parent.name, parent.namespace ?? 'shop', parent.port, parent.sectionName]),
  },
);

const metadata = fc.record(
  { name: fc.constant('route'), namespace: fc.constant('shop'), labels: fc.constant({ team: 'a' }) },
  { requiredKeys: ['name', 'namespace'] },
);

/** A document without violations. */
export const arbitraryRoute: fc.Arbitrary<JsonObject> = fc.oneof(
  {
    weight: 5,
    arbitrary: documentOf(
      'HTTPRoute',
      fc.array(fc.oneof(forwardingRule, plainRule, redirectRule), { minLength: 1, maxLength: 4 }),
    ),
  },
  documentOf('TCPRoute', fc.array(backends, { minLength: 1, maxLength: 1 })),
);

function documentOf(kind: string, rules: fc.Arbitrary<object[]>): fc.Arbitrary<JsonObject> {
  return fc
    .record({ apiVersion: fc.constantFrom('v1', 'v1beta1', 'v1alpha1'), metadata, parentRefs, rules })
    .map((parts): JsonObject => ({
      apiVersion: `gateway.networking.k8s.io/${parts.apiVersion}`,
      kind,
      metadata: parts.metadata,
      // A record of fast-check has no prototype; documents have.
      spec: JSON.parse(JSON.stringify({ parentRefs: parts.parentRefs, rules: parts.rules })) as JsonObject,
    }));
}
