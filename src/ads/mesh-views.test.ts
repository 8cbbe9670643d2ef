// The views of a mesh beside what the property of test/xds/views.test.ts holds: certificates, ends, failures and the work of a change.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { make, makeDataplane, makeService } from '../../test/policy/make-resource.ts';
import { cartOf, crossingRows, identity, trustOf } from '../../test/xds/crossing-mesh.ts';
import { runSteps } from '../base/steps.ts';
import type { Leaf } from '../identity/leaf.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import type { ProxyConfig } from '../xds/proxy-context.ts';
import { WITHOUT_FEATURES } from '../xds/proxy-features.ts';
import { trustedBundle } from '../xds/proxy-tls.ts';
import { ResourceEncoder } from './encode-resources.ts';
import { MeshViews } from './mesh-views.ts';
import type { CertificateOrder } from './proxy-certificates.ts';
import type { EncodedPart } from './encoded-part.ts';
import type { ProxyView } from './proxy-view.ts';
import type { XdsType } from './session-messages.ts';

const CALLER = 'caller.east';
const IDENTITY = 'kri_mid_default_east__all_';

class CountingEncoder extends ResourceEncoder {
  made = 0;
  /** Throws for a part with a resource of this name. */
  broken = '';

  override part(config: ProxyConfig): EncodedPart {
    this.made += 1;
    if (config.listeners.has(this.broken)) throw new Error('broken');
    return super.part(config);
  }
}

let index: MeshIndex;
let encoder: CountingEncoder;
let leaf: Leaf | null;
let orders: CertificateOrder[];
let released: string[];
let views: MeshViews;

function start(rows: readonly Resource[]): void {
  index = new MeshIndex('default', rows);
  encoder = new CountingEncoder();
  [orders, released] = [[], []];
  views = new MeshViews(index, encoder, 'east', {
    get: (_, order) => {
      orders.push(order);
      return leaf;
    },
    release: ({ mesh, name }) => void released.push(`${mesh} ${name}`),
  });
}

function leafOf(text: string): Leaf {
  const certPem = `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
  return { certPem, keyPem: '', spiffeId: '', authority: '', issuedAt: new Date(0), notAfter: new Date(1) };
}

/** The view of a proxy, and lines of what its listener hears. */
function open(name: string): { view: ProxyView; heard: string[] } {
  const view = views.open(name, WITHOUT_FEATURES);
  if (view === undefined) throw new Error(`no Dataplane ${name}`);
  const heard: string[] = [];
  view.listen({
    changed: (versions) => void heard.push([...versions.keys()].sort().join(' ')),
    ended: () => void heard.push('ended'),
    failed: (error) => void heard.push(`failed: ${(error as Error).message}`),
  });
  return { view, heard };
}

function change(puts: readonly Resource[], removes: readonly Resource[] = []): void {
  const held = [...puts, ...removes].flatMap(({ type, name }) => index.get(type, name) ?? []);
  views.before(held, puts);
  for (const row of removes) index.remove(row);
  for (const row of puts) index.put(row);
  runSteps(views.after(puts));
}

const names = (view: ProxyView, type: XdsType): string[] => [...view.names(type)].sort();

beforeEach(() => {
  leaf = leafOf('first');
  start(crossingRows);
});

describe('the destinations of a proxy', () => {
  const EAST = 'kri_msvc_default_east__cart_http';
  const WEST = 'kri_msvc_default_west__cart_http';
  const EVERYWHERE = 'kri_mzsvc_default___everywhere_http';
  const PAYMENTS = 'kri_extsvc_default___payments_443';
  /** The name of each cluster, whether it has TLS, and its servers of the own zone. */
  const destinations = (): Record<string, [isTls: boolean, servers: readonly string[]]> => {
    const { view } = open(CALLER);
    return Object.fromEntries([...view.clusters()].map(([name, { isTls, servers }]) => [name, [isTls, servers]]));
  };
  const here = ['kri_msvc_default_east__cart_'];

  it('say which have TLS, and which servers of the own zone are behind them', () => {
    expect(destinations()).toMatchObject({
      [EAST]: [true, here],
      [WEST]: [true, []],
      [EVERYWHERE]: [true, here],
      [PAYMENTS]: [true, []],
    });
  });

  it('have no TLS while the servers of the own zone do not accept it', () => {
    start([...crossingRows, cartOf('east', {}, { status: 'NotReady' })]);
    expect(destinations()).toMatchObject({ [EAST]: [false, here], [WEST]: [true, []], [EVERYWHERE]: [false, here] });
  });

  it('have no TLS without a certificate', () => {
    leaf = null;
    expect(Object.values(destinations()).map(([isTls]) => isTls)).toEqual(Array.from({ length: 5 }, () => false));
  });
});

describe('the certificate of a proxy', () => {
  const provider = (given: JsonObject): Resource => ({ ...identity, spec: { ...identity.spec, provider: given } });

  it('is ordered for its identity, from the authority that the MeshIdentity names', () => {
    index.put({ ...identity, status: { ...identity.status, authority: 'authority-1' } });
    expect(views.orderOf(CALLER)).toEqual({
      ...{ mesh: 'default', identity: 'all.east', authority: 'authority-1', lifetimeMs: 24 * 3_600_000 },
      spiffeId: 'spiffe://default.east.mesh.local/workload/caller',
    });
  });

  it.each<[why: string, change: () => void, name?: string]>([
    ['no Dataplane of the name', () => undefined, 'none.east'],
    ['no MeshIdentity', () => void index.remove(identity)],
    ['no trust in its domain', () => void index.remove(trustOf('east'))],
    ['a provider that this control plane has not', () => void index.put(provider({ type: 'Spire', spire: {} }))],
  ])('is not ordered where there is %s', (_, prepare, name = CALLER) => {
    prepare();
    expect(views.orderOf(name)).toBeNull();
  });

  it('is a secret of the view, which a new one replaces without making the outbounds again', () => {
    const { view, heard } = open(CALLER);
    expect(names(view, 'Secret')).toEqual([IDENTITY, 'system_trust_bundle']);
    expect(view.certified).toMatchObject({ identity: IDENTITY, leaf });
    encoder.made = 0;
    leaf = leafOf('second');
    views.renew(CALLER);
    expect(heard).toEqual(['Secret']);
    expect(view.certified?.leaf).toBe(leaf);
    // The secret, and what the proxy has beside its outbounds.
    expect(encoder.made).toBe(2);
    views.renew('none.east');
    expect(encoder.made).toBe(2);
  });

  it('rebuilds the view for its first certificate: plain text becomes TLS', () => {
    leaf = null;
    const { view, heard } = open(CALLER);
    expect([view.certified, names(view, 'Secret')]).toEqual([null, []]);
    leaf = leafOf('first');
    views.renew(CALLER);
    expect(view.certified?.identity).toBe(IDENTITY);
    expect(heard).toEqual(['Cluster ClusterLoadAssignment Listener RouteConfiguration Secret']);
  });

  it('stays while the next one is issued, and goes with the identity', () => {
    const { view } = open(CALLER);
    const first = leaf;
    leaf = null;
    views.renew(CALLER);
    expect([view.certified?.leaf, released]).toEqual([first, []]);
    change([], [identity]);
    expect([view.certified, released]).toEqual([null, [`default ${CALLER}`]]);
    expect(names(view, 'Secret').filter((name) => name === IDENTITY)).toEqual([]);
    change([make('MeshTimeout', 't', { to: [{ targetRef: { kind: 'Mesh' }, default: { idleTimeout: '1s' } }] })]);
    expect(released).toHaveLength(1);
  });
});

describe('the views of a mesh', () => {
  it('name the authorities that the mesh trusts, and others after a change of a MeshTrust', () => {
    start(crossingRows);
    const { view } = open(CALLER);
    const before = view.trusted;
    expect(before).toBe(trustedBundle(index));
    change([], [trustOf('north')]);
    expect([view.trusted === before, view.trusted]).toEqual([false, trustedBundle(index)]);
  });

  it('are none for a Dataplane that does not exist', () => {
    expect(views.open('none.east', WITHOUT_FEATURES)).toBeUndefined();
    expect(views.size).toBe(0);
  });

  it('keep the newest of a Dataplane when an older one is closed', () => {
    const [older, newer] = [open(CALLER), open(CALLER)];
    views.close(CALLER, older.view);
    expect(views.size).toBe(1);
    views.close('none.east', newer.view);
    views.close(CALLER, newer.view);
    expect(views.size).toBe(0);
  });

  it('all end with the mesh, and one with its Dataplane', () => {
    const [caller, cart] = [open(CALLER), open('cart.east')];
    const row = index.get('Dataplane', 'cart.east');
    change([], row === undefined ? [] : [row]);
    expect([cart.heard.at(-1), caller.heard.includes('ended')]).toEqual(['ended', false]);
    views.end();
    expect(caller.heard.at(-1)).toBe('ended');
  });

  it('fail alone', () => {
    const [web, api] = [makeDataplane('web', { zone: 'east' }), makeDataplane('api', { zone: 'east' })];
    start([web, api]);
    const heard = [open('web.east').heard, open('api.east').heard];
    encoder.broken = 'self_inbound_dp_broken';
    const inbound = (name: string): JsonObject => ({ inbound: [{ port: 8080, name, protocol: 'http' }] });
    change([makeDataplane('web', { zone: 'east' }, inbound('broken')), makeDataplane('api', { zone: 'east' }, inbound('good'))]);
    expect(heard).toEqual([['failed: broken'], ['Cluster Listener RouteConfiguration TypedExtensionConfig']]);
  });

  it('send nothing and make nothing for a route that no proxy has', () => {
    const { heard } = open(CALLER);
    encoder.made = 0;
    change([make('MeshHTTPRoute', 'unused', { to: [{ targetRef: { kind: 'MeshService', name: 'none' }, rules: [] }] })]);
    expect([heard, encoder.made]).toEqual([[], 0]);
  });

  it('are all made again when everything may differ, and no listener of a disabled zone stays', () => {
    const { view, heard } = open(CALLER);
    const known = (): string[] => names(view, 'Listener').map((name) => view.get('Listener', name)?.knownAs ?? name);
    const listeners = known();
    runSteps(views.after([]));
    encoder.made = 0;
    views.beforeEverything();
    index.disableZones(new Set(['north']));
    runSteps(views.after([]));
    expect(heard).toHaveLength(1);
    expect(known()).toEqual(listeners.filter((name) => !name.includes('north')));
    expect(encoder.made).toBeGreaterThan(5);
  });

  it('forget the names of services that are gone, and all when no proxy is connected', () => {
    const cart = makeService('cart', { zone: 'east' });
    const backendRef = { kind: 'MeshService', name: 'cart', port: 80 };
    start([cart, makeDataplane('web', { zone: 'east' }, { outbound: [{ port: 10_000, backendRef }] })]);
    const { view } = open('web.east');
    expect(views.services).toBe(1);
    change([], [cart]);
    expect(views.services).toBe(0);
    change([cart]);
    expect([views.services, names(view, 'Cluster').length]).toEqual([1, 2]);
    views.close('web.east', view);
    change([cart]);
    expect(views.services).toBe(0);
  });

  it('follow a service whose requests all go to another one, and that one', () => {
    const to = (name: string): JsonObject => ({ kind: 'MeshService', name, port: 80 });
    const service = (name: string): Resource => {
      const selector = { dataplaneLabels: { matchLabels: { app: name } } };
      return make(
        'MeshService',
        name,
        { selector, ports: [{ port: 80, targetPort: 8080, appProtocol: 'http' }] },
        { zone: 'east' },
      );
    };
    const route = (value: string): Resource => {
      const rules = [{ matches: [{ path: { type: 'PathPrefix', value } }], default: { backendRefs: [to('other')] } }];
      const targetRef = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart' } };
      return make('MeshHTTPRoute', 'r', { to: [{ targetRef, rules }] });
    };
    const web = makeDataplane('web', { zone: 'east' }, { outbound: [{ port: 10_000, backendRef: to('cart') }] });
    start([service('cart'), service('other'), web, route('/')]);
    const { view, heard } = open('web.east');
    expect(names(view, 'Cluster')).toEqual(['kri_msvc_default_east__other_80', 'self_inbound_dp_http']);
    change([makeDataplane('other-1', { zone: 'east', labels: { app: 'other' } })]);
    change([{ ...service('cart'), labels: { ...service('cart').labels, more: 'x' } }]);
    change([route('/a')]);
    expect(heard).toEqual(['ClusterLoadAssignment', 'Cluster ClusterLoadAssignment RouteConfiguration']);
  });

  describe('of Dataplanes with one list of outbounds', () => {
    const cart = (appProtocol: string): Resource => {
      const selector = { dataplaneLabels: { matchLabels: { app: 'cart' } } };
      return make('MeshService', 'cart', { selector, ports: [{ port: 80, targetPort: 8080, appProtocol }] }, { zone: 'east' });
    };
    const route = (value: string): Resource => {
      const backendRefs = [{ kind: 'MeshService', name: 'cart', port: 80 }];
      const rules = [{ matches: [{ path: { type: 'PathPrefix', value } }], default: { backendRefs } }];
      const targetRef = { kind: 'MeshService', labels: { 'kuma.io/display-name': 'cart' } };
      return make('MeshHTTPRoute', 'r', { to: [{ targetRef, rules }] });
    };
    /** One object, as src/mesh-index/shared-outbounds.ts makes equal lists. */
    const outbound = [{ port: 10_000, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }];
    const caller = (name: string, inbound = 'http'): Resource => {
      const networking = { address: '10.0.0.1', inbound: [{ port: 8080, name: inbound }], outbound };
      return make('Dataplane', name, { networking }, { zone: 'east' });
    };
    /** The view, and how many parts were made for it. */
    const opened = (name: string): { view: ProxyView; heard: string[]; made: number } => {
      encoder.made = 0;
      return { ...open(name), made: encoder.made };
    };
    const shown = (view: ProxyView): string[] =>
      (['Cluster', 'Listener', 'RouteConfiguration'] as const)
        .flatMap((type) => view.names(type).map((name) => `${name} ${view.get(type, name)?.version ?? ''}`))
        .sort();
    /** What a view made from nothing has. */
    const shownFirst = (name: string): string[] => {
      const first = new MeshViews(index, new ResourceEncoder(), 'east');
      return shown(first.open(name, WITHOUT_FEATURES) ?? fail());
    };
    const fail = (): never => {
      throw new Error('no view');
    };

    beforeEach(() => start([cart('http'), caller('a'), caller('b'), caller('c')]));

    it('make the outbounds once, also after changes', () => {
      expect([opened('a.east').made, opened('b.east').made]).toEqual([3, 1]);
      change([cart('http2')]);
      const { view, made } = opened('c.east');
      expect([made, shown(view)]).toEqual([1, shownFirst('c.east')]);
    });

    it('have the ports that a zone proxy opens, also with the outbounds of another one', () => {
      const payments = make('MeshExternalService', 'payments', {
        match: { type: 'HostnameGenerator', port: 443, protocol: 'tcp' },
        endpoints: [{ address: 'bank.example', port: 443 }],
      });
      const egress = (name: string): Resource =>
        make('Dataplane', name, { networking: { zoneEgress: { address: '10.0.0.1', port: 10_002 } } }, { zone: 'east' });
      start([payments, egress('a'), egress('b')]);
      const [first, second] = [opened('a.east'), opened('b.east')];
      expect(names(second.view, 'Cluster')).toEqual(names(first.view, 'Cluster'));
      expect([names(second.view, 'Cluster').length, shown(second.view)]).toEqual([1, shownFirst('b.east')]);
    });

    it('make them again when the proxy that had them has gone, has a newer stream, or could not follow a change', () => {
      const first = opened('a.east');
      views.close('a.east', first.view);
      change([cart('http2')]);
      expect(shown(opened('b.east').view)).toEqual(shownFirst('b.east'));
      const newer = opened('b.east');
      change([cart('tcp')]);
      const { view } = opened('c.east');
      expect([shown(view), shown(newer.view)]).toEqual([shownFirst('c.east'), shownFirst('b.east')]);
      encoder.broken = 'self_inbound_dp_broken';
      change([caller('b', 'broken'), cart('grpc')]);
      encoder.broken = '';
      expect(shown(opened('a.east').view)).toEqual(shownFirst('a.east'));
    });

    it('make them again when the proxy that had them has a newer stream with other features', () => {
      opened('a.east');
      views.open('a.east', { ...WITHOUT_FEATURES, ipv6: true });
      change([cart('tcp')]);
      expect(shown(opened('b.east').view)).toEqual(shownFirst('b.east'));
    });

    it('make a change once, and tell each listener', () => {
      const all = ['a.east', 'b.east', 'c.east'].map(opened);
      encoder.made = 0;
      change([route('/a')]);
      expect([encoder.made, all.map(({ heard }) => heard)]).toEqual([2, Array.from({ length: 3 }, () => ['RouteConfiguration'])]);
      // The first makes the step; the others take it as it is.
      const taken = all.map(({ view }) => vi.spyOn(view, 'take'));
      change([route('/b')]);
      expect(taken.map(({ mock }) => mock.calls.length)).toEqual([0, 1, 1]);
      expect(all.map(({ view }) => shown(view))).toEqual(['a.east', 'b.east', 'c.east'].map(shownFirst));
    });
  });
});
