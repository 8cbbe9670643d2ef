// Which server names a rule of an inbound is about.
import { describe, expect, it } from 'vitest';
import { make } from '../../test/policy/make-resource.ts';
import type { InboundRule } from '../policy/inbound-rules.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { serviceSni } from '../resource/sni.ts';
import type { InboundMatch } from '../schema/inbound-match.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';
import { meshNamesServer, namesServer, serverNames, withServerNames } from './server-names.ts';

const sni = (value: string): InboundMatch => ({ sni: { type: 'Exact', value } });
const client: InboundMatch = { spiffeID: { type: 'Exact', value: 'spiffe://a/b' } };
const rule = (match: InboundMatch | null, conf: object = {}): InboundRule<object, InboundMatch> =>
  ({ match, conf, policy: { kri: 'p' }, index: 0 }) as unknown as InboundRule<object, InboundMatch>;
const serviceOf = (name: string, app: string, ports: JsonObject[]): Resource =>
  make(
    'MeshService',
    name,
    { selector: { dataplaneLabels: { matchLabels: { app } } }, ports },
    { zone: 'east', labels: { app } },
  );
const hashed = (type: string, name: string, port: number): string =>
  serviceSni({ type, mesh: 'default', name, labels: {} }, port) ?? '';

function namesOf(...rows: Resource[]): (value: string) => string[] {
  const networking = { address: '10.0.0.1', inbound: [{ port: 8080, name: 'main' }] };
  const dataplane = make('Dataplane', 'cart-1', { networking }, { zone: 'east', namespace: 'shop', labels: { app: 'cart' } });
  const index = new MeshIndex('default', [dataplane, ...rows]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  const others = serverNames(index, proxy);
  return (value) => [...others(value)].sort();
}

describe('the server names of a port', () => {
  const main = { port: 80, name: 'main' };
  const kuma = 'sni.msvc.default.east.cart.main';
  const both = [hashed('MeshService', 'cart', 80), kuma];

  it('are those of a service of the proxy, in both forms', () => {
    const names = namesOf(serviceOf('cart', 'cart', [main, { port: 90 }]));
    for (const name of both) expect(names(name)).toEqual(both);
    expect(names('sni.msvc.default.east.cart.90')).toEqual([hashed('MeshService', 'cart', 90), 'sni.msvc.default.east.cart.90']);
  });

  it('are those of a MeshMultiZoneService of its service', () => {
    const everywhere = make('MeshMultiZoneService', 'all', {
      ...{ selector: { meshService: { matchLabels: { app: 'cart' } } }, ports: [{ port: 80 }] },
    });
    const ofAll = [hashed('MeshMultiZoneService', 'all', 80), 'sni.mzsvc.default.all.80'];
    const names = namesOf(serviceOf('cart', 'cart', [main]), everywhere);
    for (const name of ofAll) expect(names(name)).toEqual(ofAll);
  });

  it('of a service that this proxy does not serve are as written', () => {
    const names = namesOf(serviceOf('cart', 'other', [main]));
    for (const name of both) expect(names(name)).toEqual([name]);
  });

  it('are more where services share one', () => {
    const selector = { dataplaneLabels: { matchLabels: { app: 'cart' } } };
    const namespaced = make('MeshService', 'cart', { selector, ports: [main] }, { zone: 'east', namespace: 'shop' });
    const names = namesOf(serviceOf('cart.shop', 'cart', [main]), { ...namespaced, name: 'other' });
    const shared = hashed('MeshService', 'cart.shop', 80);
    expect(names(shared)).toEqual([shared, 'sni.msvc.default.east.cart.shop.main', 'sni.msvc.default.east.shop.cart.main']);
  });
});

describe('a rule', () => {
  const others = (value: string): string[] => (value === 'a' ? ['a', 'a2'] : [value]);

  it('that names a server name by its match is there for each name of the port', () => {
    const conf = { http: [] };
    const rules = [rule({ ...client, ...sni('a') }, conf), rule(sni('b'), conf), rule(client, conf), rule(null, conf)];
    expect(withServerNames(rules, others).map(({ match }) => match)).toEqual([
      { ...client, ...sni('a') },
      { ...client, ...sni('a2') },
      sni('b'),
      client,
      null,
    ]);
    expect(withServerNames(rules, others).map((one) => one.conf)).toEqual(Array.from({ length: 5 }, () => conf));
  });

  it('that names a server name for its clients has them with each name of the port', () => {
    const conf = { deny: [sni('a'), client], allow: [{ ...client, ...sni('a') }], allowWithShadowDeny: [sni('b')] };
    expect(withServerNames([rule(null, conf)], others).map((one) => one.conf)).toEqual([
      {
        deny: [sni('a'), sni('a2'), client],
        allow: [
          { ...client, ...sni('a') },
          { ...client, ...sni('a2') },
        ],
        allowWithShadowDeny: [sni('b')],
      },
    ]);
  });

  it('that names none stays as it is', () => {
    const rules = [rule(client, { deny: [client] }), rule(null)];
    expect(withServerNames(rules, others)).toEqual(rules);
    expect(namesServer(rules)).toBe(false);
  });

  it.each<[match: InboundMatch | null, conf: object]>([
    [sni('a'), {}],
    [null, { deny: [client, sni('a')] }],
    [client, { allow: [sni('a')] }],
    [null, { allowWithShadowDeny: [sni('a')] }],
  ])('with the match %j and the conf %j names a server name', (match, conf) => {
    expect(namesServer([rule(null), rule(match, conf)])).toBe(true);
    const policy = (type: string): Resource =>
      make(type, 'p', { rules: [{ ...(match !== null && { matches: [client, match] }), default: conf as Json }] } as JsonObject);
    const index = new MeshIndex('default', [policy('MeshTrafficPermission')]);
    expect(meshNamesServer(index)).toBe(true);
    index.put(make('MeshTrafficPermission', 'p', { rules: [{ matches: [client], default: { deny: [client] } }] } as JsonObject));
    expect(meshNamesServer(index)).toBe(false);
  });
});
