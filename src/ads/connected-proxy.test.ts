// What names the shared parts of a connected proxy, and what does not.
import { PERMITS_ALL } from '../resource/proxy-permit.ts';
import { describe, expect, it } from 'vitest';
import { make, makeDataplane, makeService, makeTo } from '../../test/policy/make-resource.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { WITHOUT_FEATURES, type ProxyFeatures } from '../xds/proxy-features.ts';
import { ConnectedProxy } from './connected-proxy.ts';
import type { Certified } from './proxy-view.ts';
import { SharedMaps } from './shared-map.ts';

const shared = { outbounds: new SharedMaps<never>(), destinations: new SharedMaps<never>() };
const TIMEOUT = makeTo('MeshTimeout', 'all', { kind: 'Mesh' }, { idleTimeout: '1s' });
const own = (type: string, name: string, conf: JsonObject): Resource =>
  makeTo(type, name, { kind: 'Mesh' }, conf, {}, { kind: 'Dataplane', labels: { app: 'web' } });
const OWN_TIMEOUT = own('MeshTimeout', 'own', { idleTimeout: '2s' });
const OWN_RETRY = own('MeshRetry', 'own', { tcp: { maxConnectAttempt: 2 } });
const outbound = [{ port: 10_000, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }];

type Given = {
  name?: string;
  app?: string;
  networking?: JsonObject;
  features?: ProxyFeatures;
  origin?: string;
  rows?: Resource[];
};

function connect({
  name = 'web',
  app = 'web',
  networking = {},
  features = WITHOUT_FEATURES,
  origin = 'zone',
  rows = [],
}: Given = {}): {
  index: MeshIndex;
  connected: ConnectedProxy;
} {
  const dataplane = makeDataplane(name, { zone: 'east', origin, labels: { app } }, { outbound, ...networking });
  const index = new MeshIndex('default', [dataplane, TIMEOUT, makeService('cart', { zone: 'east' }), ...rows]);
  const proxy = index.proxy(dataplane.name);
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  const connected = new ConnectedProxy(proxy, features, PERMITS_ALL, shared);
  connected.rematch(index, null);
  return { index, connected };
}

const keyOf = (given: Given = {}): string => connect(given).connected.key;

describe('the key of the shared parts of a proxy', () => {
  it('is the same for proxies that differ in name, address, labels without policies and paths', () => {
    const keys = [
      keyOf(),
      keyOf({ name: 'other' }),
      keyOf({ app: 'cart' }),
      keyOf({ networking: { address: '10.0.0.2' } }),
      keyOf({ app: 'cart', rows: [OWN_TIMEOUT] }),
    ];
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toHaveLength(22);
    const pathed = ['/a', '/b'].map((companion) => keyOf({ features: { ...WITHOUT_FEATURES, companion } }));
    expect(new Set(pathed).size).toBe(1);
  });

  it('differs by policy, by feature, by origin, and where no policy can match', () => {
    const none = { inbound: [] };
    const keys = [
      keyOf(),
      keyOf({ rows: [OWN_TIMEOUT] }),
      keyOf({ rows: [OWN_TIMEOUT, OWN_RETRY] }),
      keyOf({ features: { ...WITHOUT_FEATURES, ipv6: true } }),
      keyOf({ features: { ...WITHOUT_FEATURES, companion: '/a' } }),
      keyOf({ origin: 'global' }),
      keyOf({ networking: none }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('has the identity, and changes with it alone', () => {
    const { connected } = connect();
    const before = connected.key;
    connected.certified = { identity: 'id' } as Certified;
    const certified = connected.key;
    connected.certified = { identity: 'id' } as Certified;
    expect([certified === before, connected.key === certified]).toEqual([false, true]);
    connected.certified = null;
    expect(connected.key).toBe(before);
  });

  it('does not depend on the order in which policies were matched', () => {
    const { index, connected } = connect({ rows: [OWN_TIMEOUT, OWN_RETRY] });
    const { key } = connected;
    for (const type of ['MeshRetry', 'MeshTimeout']) {
      index.remove(type === 'MeshRetry' ? OWN_RETRY : OWN_TIMEOUT);
      connected.rematch(index, [type]);
    }
    expect(connected.key).toBe(keyOf());
    for (const row of [OWN_RETRY, OWN_TIMEOUT]) index.put({ ...row });
    const put = new ConnectedProxy(connected.proxy, WITHOUT_FEATURES, PERMITS_ALL, shared);
    put.rematch(index, null);
    for (const type of ['MeshRetry', 'MeshTimeout']) connected.rematch(index, [type]);
    expect([connected.key === put.key, connected.key === key]).toEqual([true, false]);
  });
});

describe('a match of policies', () => {
  it('says which policies of its own the proxy had and has, of the given types', () => {
    const { index, connected } = connect({ rows: [OWN_TIMEOUT, OWN_RETRY] });
    const named = (policies: Iterable<{ type: string; displayName: string }>): string[] =>
      [...policies].map(({ type, displayName }) => `${type} ${displayName}`).sort();
    index.remove(OWN_TIMEOUT);
    const { before, after } = connected.rematch(index, ['MeshTimeout']);
    expect([named(before), named(after)]).toEqual([['MeshTimeout own'], []]);
    const all = connected.rematch(index, null);
    expect([named(all.before), named(all.after)]).toEqual([['MeshRetry own'], ['MeshRetry own']]);
  });
});

describe('a changed Dataplane', () => {
  const changed = (labels: Record<string, string>, networking: JsonObject): boolean => {
    const { connected } = connect();
    const { version } = connected;
    const row = makeDataplane('web', { zone: 'east', labels: { app: 'web', ...labels } }, { outbound, ...networking });
    const proxy = new MeshIndex('default', [row]).proxy(row.name);
    if (proxy === undefined) throw new Error('the mesh has no Dataplane');
    connected.changeTo(proxy);
    expect(connected.proxy).toBe(proxy);
    return connected.version === version;
  };

  it.each<[what: string, labels: Record<string, string>, networking: JsonObject, isSameVersion: boolean]>([
    ['its inbounds', {}, { inbound: [] }, true],
    ['its address', {}, { address: '10.0.0.2' }, false],
    ['its labels', { more: 'x' }, {}, false],
    ['its outbounds', {}, { outbound: [] }, true],
  ])('that differs in %s keeps its version or not: %#', (_, labels, networking, isSameVersion) => {
    expect(changed(labels, networking)).toBe(isSameVersion);
  });

  it('has a key again after the next match', () => {
    const { index, connected } = connect();
    const { key } = connected;
    connected.changeTo(connected.proxy);
    connected.rematch(index, []);
    expect(connected.key).toBe(key);
  });
});

it('a changed proxy has a version that no proxy had before', () => {
  const [one, other] = [connect().connected, connect().connected];
  const before = [one.version, other.version];
  const row = makeDataplane('web', { zone: 'east', labels: { app: 'other' } }, { outbound });
  const proxy = new MeshIndex('default', [row]).proxy(row.name);
  if (proxy === undefined) throw new Error('the mesh has no Dataplane');
  one.changeTo(proxy);
  expect(before).not.toContain(one.version);
});

it('proxies have different versions, and the references of their outbounds', () => {
  const [one, other] = [connect().connected, connect().connected];
  expect(one.version).not.toBe(other.version);
  expect(one.refs).toMatchObject([{ kind: 'MeshService', name: 'cart' }]);
  expect(connect({ rows: [make('Secret', 's', {})] }).connected.certified).toBeNull();
});
