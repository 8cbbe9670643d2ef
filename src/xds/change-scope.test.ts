// What a change can touch, by name. That it is never too little is a property of test/xds/views.test.ts.
import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeRoute, makeTo } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { targetRefOf } from '../policy/target-ref.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { ChangeScope } from './change-scope.ts';

const east = { zone: 'east' };
const MESH = { kind: 'Mesh' };

function service(name: string, app: string, labels: Record<string, string> = {}): Resource {
  return make(
    'MeshService',
    name,
    { selector: { dataplaneLabels: { matchLabels: { app } } }, ports: [{ port: 80 }] },
    { ...east, labels },
  );
}
const dataplane = (name: string, app: string): Resource => makeDataplane(name, { ...east, labels: { app } });
const everywhere = (name: string, team: string): Resource =>
  make('MeshMultiZoneService', name, { selector: { meshService: { matchLabels: { team } } }, ports: [{ port: 80 }] });

const held = [
  service('cart', 'cart', { team: 'a' }),
  service('catalog', 'catalog'),
  dataplane('cart-1', 'cart'),
  dataplane('catalog-1', 'catalog'),
  everywhere('all-carts', 'a'),
  makeRoute('to-cart', { name: 'cart' }),
];
const CART = 'kri_msvc_default_east__cart_';
const CATALOG = 'kri_msvc_default_east__catalog_';
const ALL_CARTS = 'kri_mzsvc_default___all-carts_';

/** The scope of a change from these rows to those, without what is empty. */
function scopeOf(before: readonly Resource[], after: readonly Resource[], others: readonly Resource[] = []): JsonObject {
  const index = new MeshIndex('default', [...held, ...others, ...before]);
  const scope = new ChangeScope(index);
  scope.before(before, after);
  for (const row of before) index.remove(row);
  for (const row of after) index.put(row);
  scope.after(after);
  const named = ({ isEvery, named: services }: ChangeScope['services']): string[] => [
    ...(isEvery ? ['every'] : []),
    ...[...services].sort(),
  ];
  const lists = {
    services: named(scope.services),
    endpoints: named(scope.endpoints),
    matchedTypes: [...scope.matchedTypes],
    dataplanes: [...scope.dataplanes],
    names: [...scope.dataplaneNames],
    servers: [...scope.servers],
    policies: scope.policies.map(({ policy, isShared, services, isInbound, isProxyWide }) =>
      [
        policy.displayName,
        ...(isShared ? ['shared'] : []),
        ...named(services),
        ...(isInbound ? ['inbound'] : []),
        ...(isProxyWide ? ['whole proxy'] : []),
      ].join(' '),
    ),
  };
  return {
    ...(scope.isEverything && { isEverything: true }),
    ...(scope.hasServices && { hasServices: true }),
    ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)),
  };
}

/** The scope of a row that comes, which is that of the row that goes. */
function scopeOfRow(row: Resource, others: readonly Resource[] = []): JsonObject {
  const coming = scopeOf([], [row], others);
  expect(scopeOf([row], [], others)).toEqual(coming);
  return coming;
}

describe('a change', () => {
  it.each(['Mesh', 'MeshOpenTelemetryBackend', 'MeshIdentity', 'MeshTrust'])('of a %s touches everything', (type) => {
    expect(scopeOfRow(make(type, type === 'Mesh' ? 'default' : 'new', {}))).toEqual({ isEverything: true });
  });

  it('of a type that proxies do not depend on touches nothing', () => {
    expect(scopeOfRow(make('HostnameGenerator', 'h', {}))).toEqual({});
    expect(scopeOf([], [])).toEqual({});
  });

  it('of a Dataplane touches it, and the endpoints of the services that select it', () => {
    const row = dataplane('cart-2', 'cart');
    expect(scopeOfRow(row)).toEqual({ dataplanes: [row.name], names: ['cart-2'], endpoints: [CART, ALL_CARTS] });
    expect(scopeOf([row], [dataplane('cart-2', 'catalog')])).toEqual({
      ...{ dataplanes: [row.name], names: ['cart-2'], endpoints: [CART, CATALOG, ALL_CARTS] },
    });
    expect(scopeOfRow(dataplane('lonely-1', 'lonely'))).toEqual({ dataplanes: ['lonely-1.east'], names: ['lonely-1'] });
  });

  it('of a service touches it and those of many zones that have it', () => {
    const kri = 'kri_msvc_default_east__pay_';
    expect(scopeOfRow(service('pay', 'pay'))).toEqual({ hasServices: true, services: [kri], endpoints: [kri] });
    const both = [ALL_CARTS, kri].sort();
    expect(scopeOfRow(service('pay', 'pay', { team: 'a' }))).toEqual({
      ...{ hasServices: true, services: both, endpoints: both },
    });
    expect(scopeOfRow(everywhere('others', 'a'))).toEqual({
      ...{ hasServices: true, services: ['kri_mzsvc_default___others_'], endpoints: ['kri_mzsvc_default___others_'] },
    });
  });

  it('of a service touches its servers while the mesh has identities', () => {
    expect(scopeOfRow(service('again', 'cart'), [make('MeshIdentity', 'i', {})])['servers']).toEqual(['cart-1.east']);
    expect(scopeOfRow(everywhere('others', 'a'), [make('MeshIdentity', 'i', {})])).not.toHaveProperty('servers');
  });

  it('of a MeshMultiZoneService touches its servers while a rule names a server name', () => {
    const sni = { type: 'Exact', value: 'a.b' };
    const denial = make('MeshTrafficPermission', 'd', { rules: [{ default: { deny: [{ sni }] } }] });
    expect(scopeOfRow(everywhere('others', 'a'), [make('MeshIdentity', 'i', {}), denial])['servers']).toEqual(['cart-1.east']);
    expect(scopeOfRow(everywhere('others', 'a'), [denial])).not.toHaveProperty('servers');
  });

  it('of a Secret touches the external services that take it', () => {
    const bank = (name: string, secret: string): Resource =>
      make('MeshExternalService', name, {
        tls: { enabled: true, verification: { caCert: { secretRef: { kind: 'Secret', name: secret } } } },
      });
    const banks = [bank('one', 'ca'), bank('other', 'other-ca')];
    expect(scopeOfRow(make('Secret', 'ca', {}), banks)).toEqual({ services: ['kri_extsvc_default___one_'] });
    expect(scopeOfRow(make('Secret', 'unused', {}), banks)).toEqual({});
  });

  it('of a MeshZoneAddress touches the endpoints of the services of its zone', () => {
    const west = make('MeshService', 'far', { ports: [{ port: 80 }] }, { zone: 'west' });
    const kri = 'kri_msvc_default_west__far_';
    expect(scopeOfRow(make('MeshZoneAddress', 'ingress', {}, { zone: 'west' }), [west])).toEqual({ endpoints: [kri] });
  });

  it('of the Dataplane of an egress touches the endpoints of all external services', () => {
    const bank = make('MeshExternalService', 'bank', {});
    const networking = { zoneEgress: { address: '10.0.0.1', port: 10_002 } };
    const egress = make('Dataplane', 'egress', { networking }, east);
    expect(scopeOfRow(egress, [bank])['endpoints']).toEqual(['kri_extsvc_default___bank_']);
    expect(scopeOfRow(dataplane('lonely-1', 'lonely'), [bank])).not.toHaveProperty('endpoints');
  });

  it('of a route touches the destinations of the policies that name it', () => {
    const route = makeRoute('new', { name: 'cart' });
    const onTop = makeTo('MeshTimeout', 'p', MESH, {}, {}, { kind: 'MeshHTTPRoute', name: 'new' });
    const inTo = makeTo('MeshTimeout', 'p', { kind: 'MeshHTTPRoute', name: 'new' }, {});
    expect(scopeOfRow(route)).not.toHaveProperty('services');
    expect(scopeOfRow(route, [inTo])['services']).toEqual([CART]);
    expect(scopeOfRow(route, [onTop])['services']).toEqual(['every', CART]);
    expect(scopeOfRow(route)['policies']).toEqual([`new shared ${CART}`]);
  });

  it.each<[string, JsonObject]>([
    ['backendRefs', { backendRefs: [{ kind: 'MeshService', name: 'pay', port: 80 }] }],
    ['a mirror', { filters: [{ type: 'RequestMirror', requestMirror: { backendRef: { kind: 'MeshService', name: 'pay' } } }] }],
    ['labels', { backendRefs: [{ kind: 'MeshService', labels: { 'kuma.io/display-name': 'pay', team: 'b' } }] }],
  ])('of a service touches the destinations of a route that leads to it by %s', (_, conf) => {
    const to = [{ targetRef: { kind: 'MeshService', name: 'catalog' }, rules: [{ matches: [], default: conf }] }];
    const route = make('MeshHTTPRoute', 'leads', { to });
    const kri = 'kri_msvc_default_east__pay_';
    expect(scopeOfRow(service('pay', 'pay', { team: 'b' }), [route])['services']).toEqual([CATALOG, kri]);
    expect(scopeOfRow(service('other', 'pay', { team: 'b' }), [route])['services']).toEqual(['kri_msvc_default_east__other_']);
  });

  it('of a service touches those that a policy on it is about', () => {
    const to = ['cart', 'catalog'].map((name) => ({ targetRef: { kind: 'MeshService', name }, default: {} }));
    const policy = make('MeshTimeout', 'p', { to });
    expect(scopeOf([service('cart', 'cart')], [service('cart', 'new')], [policy])['services']).toEqual([CART, CATALOG]);
  });
});

describe('a change of a policy touches', () => {
  const of = (row: Resource): unknown => {
    const { matchedTypes, policies, ...others } = scopeOfRow(row);
    expect(others).toEqual({});
    return [matchedTypes, policies];
  };

  it.each<[string, Resource, string]>([
    ['every service', makeTo('MeshTimeout', 'p', MESH, {}), 'p shared every'],
    ['one service', makeTo('MeshTimeout', 'p', { kind: 'MeshService', name: 'cart' }, {}), `p shared ${CART}`],
    ['the services of a route', makeTo('MeshTimeout', 'p', { kind: 'MeshHTTPRoute', name: 'to-cart' }, {}), `p shared ${CART}`],
    ['no service', makeTo('MeshTimeout', 'p', { kind: 'MeshService', name: 'none' }, {}), 'p shared'],
    [
      'some proxies',
      makeTo('MeshTimeout', 'p', { kind: 'MeshService', name: 'cart' }, {}, {}, { kind: 'Dataplane', name: 'cart-1' }),
      `p ${CART}`,
    ],
    ['inbounds', make('MeshTimeout', 'p', { rules: [{ default: {} }] }), 'p shared inbound'],
    ['inbounds in the old form', make('MeshTimeout', 'p', { from: [{ default: {} }] }), 'p shared inbound'],
    ['whole proxies', make('MeshMetric', 'p', { default: {} }), 'p shared whole proxy'],
    ['both ends of a connection', make('MeshTLS', 'p', { rules: [{ default: {} }] }), 'p shared every inbound'],
    [
      'the collectors of access logs',
      makeTo(
        'MeshAccessLog',
        'p',
        { kind: 'MeshService', name: 'cart' },
        {
          backends: [{ type: 'OpenTelemetry', openTelemetry: { endpoint: 'otel' } }],
        },
      ),
      `p shared ${CART} inbound`,
    ],
    [
      'files of access logs',
      makeTo('MeshAccessLog', 'p', { kind: 'MeshService', name: 'cart' }, { backends: [{ type: 'File' }] }),
      `p shared ${CART}`,
    ],
    [
      'the services of the route at its top',
      makeTo('MeshTimeout', 'p', { kind: 'MeshService', name: 'catalog' }, {}, {}, { kind: 'MeshHTTPRoute', name: 'to-cart' }),
      `p ${CART} ${CATALOG}`,
    ],
  ])('%s', (_, row, expected) => {
    expect(of(row)).toEqual([[row.type], [expected]]);
  });

  it('nothing where no proxy can have it', () => {
    expect(scopeOfRow(makeTo('MeshTimeout', 'p', MESH, {}, { labels: { 'kuma.io/effect': 'shadow' } }))).toEqual({});
  });

  it('the types of policies on routes, if it is a route', () => {
    const onRoute = makeTo('MeshRetry', 'p', MESH, {}, {}, { kind: 'MeshHTTPRoute', name: 'other' });
    expect(scopeOfRow(makeRoute('new', { name: 'cart' }), [onRoute])['matchedTypes']).toEqual(['MeshHTTPRoute', 'MeshRetry']);
    expect(scopeOfRow(makeTo('MeshTimeout', 'q', MESH, {}), [onRoute])['matchedTypes']).toEqual(['MeshTimeout']);
  });
});

describe('a reference of a Dataplane', () => {
  const means = (ref: JsonObject, changed: Resource): boolean => {
    const index = new MeshIndex('default', held);
    const scope = new ChangeScope(index);
    scope.before([], [changed]);
    return scope.means(targetRefOf(ref));
  };
  const pay = service('pay', 'pay', { team: 'b' });

  it.each<[JsonObject, boolean]>([
    [{ kind: 'MeshService', name: 'pay' }, true],
    [{ kind: 'MeshService', name: 'cart' }, false],
    [{ kind: 'MeshExternalService', name: 'pay' }, false],
    [{ kind: 'MeshService', labels: { team: 'b' } }, true],
    [{ kind: 'MeshService', labels: { team: 'b', 'kuma.io/display-name': 'pay' } }, true],
    [{ kind: 'MeshService', labels: { team: 'b', 'kuma.io/display-name': 'cart' } }, false],
    [{ kind: 'MeshService', labels: { team: 'a' } }, false],
    [{ kind: 'MeshExternalService', labels: { team: 'b' } }, false],
  ])('%j means a changed service: %s', (ref, expected) => {
    expect(means(ref, pay)).toBe(expected);
  });
});
