// Views that follow changes equal those that are made from nothing, and a change makes again only what it touches.
import { describe, expect, it } from 'vitest';
import { ResourceEncoder } from '../../src/ads/encode-resources.ts';
import { MeshViews } from '../../src/ads/mesh-views.ts';
import type { CertificateOrder, ProxyName } from '../../src/ads/proxy-certificates.ts';
import type { EncodedPart } from '../../src/ads/encoded-part.ts';
import { ProxyView } from '../../src/ads/proxy-view.ts';
import { XDS_TYPES, type ChangedVersions, type XdsType, type XdsView } from '../../src/ads/session-messages.ts';
import { XdsSession } from '../../src/ads/session.ts';
import { SharedOutbounds } from '../../src/mesh-index/shared-outbounds.ts';
import type { Leaf } from '../../src/identity/leaf.ts';
import { objectOf, objectsOf } from '../../src/resource/read-json.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import type { Resource } from '../../src/resource/types.ts';
import type { ProxyConfig } from '../../src/xds/proxy-context.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES, type ProxyFeatures } from '../../src/xds/proxy-features.ts';
import { TRUST_BUNDLE } from '../../src/xds/proxy-tls.ts';
import { fc } from '../support/property.ts';
import { make, makeDataplane, makeTo } from '../policy/make-resource.ts';
import { cartOf, crossingRows, EGRESS, egressAt, payments, zoneAddress } from './crossing-mesh.ts';
import { callerRows, crossingRow, row, rows } from './arbitrary-mesh.ts';

/** As kuma-dp has them: each proxy has a folder of its own. Some machines have IPv6, and one runs Envoy alone. */
function featuresOf({ name }: Resource): ProxyFeatures {
  if (name.startsWith('r')) return { ...WITHOUT_FEATURES, ipv6: true };
  return { ...WITHOUT_FEATURES, reusePort: true, companion: `/run/${name}`, tcpLogPipe: `/run/${name}/log` };
}

/** A proxy that is sent what changes in its view, and accepts it. */
class Receiver {
  readonly #held = new Map<XdsType, Map<string, string>>(XDS_TYPES.map((type) => [type, new Map()]));
  readonly #session: XdsSession;

  constructor(view: ProxyView) {
    this.#session = new XdsSession(view);
    for (const type of XDS_TYPES) this.#receive(type, '');
    this.#settle();
  }

  take(versions: ChangedVersions): void {
    this.#session.viewChanged(versions);
    this.#settle();
  }

  /** What it has of its view, as `shown`. Assignments, routes and secrets that are gone are no longer in use. */
  holdings(view: ProxyView): unknown {
    return shown({
      names: (type) => {
        const held = [...(this.#held.get(type)?.keys() ?? [])];
        return type === 'Cluster' || type === 'Listener' ? held : held.filter((name) => view.get(type, name) !== undefined);
      },
      get: (type, name) => ({ name, version: this.#held.get(type)?.get(name) ?? '', bytes: new Uint8Array() }),
    });
  }

  #receive(type: XdsType, nonce: string): void {
    this.#session.receive({ type, subscribe: [], unsubscribe: [], initialVersions: new Map(), nonce, error: null });
  }

  #settle(): void {
    for (let responses = this.#session.take(); responses.length > 0; responses = this.#session.take())
      for (const { type, nonce, resources, removed } of responses) {
        for (const { name, version } of resources) this.#held.get(type)?.set(name, version);
        for (const name of removed) this.#held.get(type)?.delete(name);
        this.#receive(type, nonce);
      }
  }
}

/** An index whose changes views follow. */
class FollowedMesh {
  readonly index: MeshIndex;
  readonly encoder: ResourceEncoder;
  readonly views: MeshViews;
  readonly connected = new Map<string, ProxyView>();
  readonly receivers = new Map<string, Receiver>();
  readonly failures: unknown[] = [];
  readonly #outbounds = new SharedOutbounds();

  constructor(held: readonly Resource[], encoder = new ResourceEncoder()) {
    this.index = new MeshIndex(
      'default',
      held.map((one) => this.#outbounds.share(one)),
    );
    this.encoder = encoder;
    this.views = new MeshViews(this.index, this.encoder, 'east', {
      get: leafOf,
      release: () => undefined,
    });
    this.connect();
  }

  /** Connects the proxies that are not connected. */
  connect(): void {
    for (const { resource } of this.index.proxies()) {
      const view = this.connected.has(resource.name) ? undefined : this.views.open(resource.name, featuresOf(resource));
      if (view === undefined) continue;
      this.connected.set(resource.name, view);
      const receiver = new Receiver(view);
      this.receivers.set(resource.name, receiver);
      const close = (): void => {
        this.views.close(resource.name, view);
        this.connected.delete(resource.name);
      };
      view.listen({
        changed: (versions) => receiver.take(versions),
        ended: close,
        failed: (error) => {
          this.failures.push(error);
          close();
        },
      });
    }
  }

  /** @param leaving number of a step → the proxy that leaves after it, by its number */
  change(given: readonly Resource[], removes: readonly Resource[], leaving: ReadonlyMap<number, number> = new Map()): void {
    const puts = given.map((one) => this.#outbounds.share(one));
    const held = [...puts, ...removes].flatMap(({ type, name }) => this.index.get(type, name) ?? []);
    this.views.before(held, puts);
    for (const removed of removes) this.index.remove(removed);
    for (const put of puts) this.index.put(put);
    let at = 0;
    for (const steps = this.views.after(puts); steps.next().done !== true; at += 1) this.#leave(leaving.get(at));
  }

  #leave(number: number | undefined): void {
    const all = [...this.connected];
    const one = number === undefined ? undefined : all[number % Math.max(all.length, 1)];
    if (one === undefined) return;
    const [name, view] = one;
    this.views.close(name, view);
    this.connected.delete(name);
    this.receivers.delete(name);
    view.listen({
      changed: () => this.failures.push(new Error(`${name} has left, and gets a change`)),
      ended: () => undefined,
      failed: (error) => this.failures.push(error),
    });
  }

  /** Names with versions of each type, by proxy. */
  held(): unknown {
    return Object.fromEntries([...this.connected].map(([name, view]) => [name, shown(view)]).sort());
  }

  /** The same, as it was sent. */
  sent(): unknown {
    const sent = [...this.connected].map(([name, view]) => [name, this.receivers.get(name)?.holdings(view)] as const);
    return Object.fromEntries(sent.sort());
  }

  /** The same, made from nothing. */
  fresh(): unknown {
    return Object.fromEntries(
      [...this.index.proxies()]
        .map((proxy) => {
          const { resources } = this.encoder.part(proxyConfig(this.index, proxy, featuresOf(proxy.resource)));
          const found: Record<string, string[]> = {};
          for (const { type, resource } of resources) (found[type] ??= []).push(`${resource.name} ${resource.version}`);
          return [
            proxy.resource.name,
            Object.fromEntries(Object.entries(found).map(([type, list]) => [type, list.sort()])),
          ] as const;
        })
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  }
}

const leaves = new Map<string, Leaf>();

/** One certificate for each SPIFFE ID, at once. */
function leafOf(_: ProxyName, { spiffeId }: CertificateOrder): Leaf {
  const known = leaves.get(spiffeId);
  if (known !== undefined) return known;
  const time = new Date(0);
  const certPem = `-----BEGIN CERTIFICATE-----\n${Buffer.from(spiffeId).toString('base64')}\n-----END CERTIFICATE-----\n`;
  const leaf: Leaf = { certPem, keyPem: '', spiffeId, authority: '', issuedAt: time, notAfter: time };
  leaves.set(spiffeId, leaf);
  return leaf;
}

/** The configuration that is made from nothing has no secrets with keys. */
function isShown(type: XdsType, name: string): boolean {
  return type !== 'Secret' || name === TRUST_BUNDLE;
}

function shown(view: XdsView): unknown {
  return Object.fromEntries(
    XDS_TYPES.flatMap((type) => {
      const held = [...view.names(type)]
        .filter((name) => isShown(type, name))
        .map((name) => `${name} ${view.get(type, name)?.version ?? 'missing'}`);
      return held.length === 0 ? [] : [[type, held.sort()]];
    }),
  );
}

/** Changes of a Dataplane that leave its outbounds as they are. */
const edit = fc.record(
  {
    app: fc.constantFrom('x', 'y'),
    state: fc.constantFrom('Ready', 'NotReady'),
    address: fc.constantFrom('10.0.1.1', '10.0.1.2'),
  },
  { requiredKeys: [] },
);

function edited(dataplane: Resource, { app, state, address }: { app?: string; state?: string; address?: string }): Resource {
  const networking = objectOf(dataplane.spec['networking']);
  const inbound = objectsOf(networking['inbound']).map((one) => ({ ...one, ...(state !== undefined && { state }) }));
  return {
    ...dataplane,
    labels: { ...dataplane.labels, ...(app !== undefined && { app }) },
    spec: { networking: { ...networking, inbound, ...(address !== undefined && { address }) } },
  };
}

type Steps = readonly {
  readonly puts: readonly Resource[];
  readonly edits: readonly (readonly [at: number, fields: Parameters<typeof edited>[1]])[];
  readonly removes: readonly number[];
  /** Proxies that leave in the midst of the change. */
  readonly leaving: readonly (readonly [step: number, proxy: number])[];
}[];

function stepsOf(one: fc.Arbitrary<Resource>): fc.Arbitrary<Steps> {
  const step = fc.record({
    puts: fc.array(one, { maxLength: 2 }),
    edits: fc.array(fc.tuple(fc.nat(), edit), { maxLength: 1 }),
    removes: fc.array(fc.nat(), { maxLength: 1 }),
    leaving: fc.array(fc.tuple(fc.nat(2), fc.nat(2)), { maxLength: 1 }),
  });
  return fc.array(step, { maxLength: 10 });
}

function followsChanges(held: readonly Resource[], steps: Steps): void {
  const mesh = new FollowedMesh(held);
  expect(mesh.held()).toEqual(mesh.fresh());
  const known = new Map(held.map((given) => [`${given.type}/${given.name}`, given]));
  for (const { puts, edits, removes, leaving } of steps) {
    const dataplanes = [...known.values()].filter(({ type }) => type === 'Dataplane');
    const again = edits.flatMap(([at, fields]) =>
      dataplanes
        .slice(at % Math.max(dataplanes.length, 1))
        .slice(0, 1)
        .map((dataplane) => edited(dataplane, fields)),
    );
    const unique = [...new Map([...again, ...puts].map((given) => [`${given.type}/${given.name}`, given])).values()];
    const gone = removes
      .flatMap((at) => [...known.values()][at % Math.max(known.size, 1)] ?? [])
      .filter((given) => !unique.some(({ type, name }) => type === given.type && name === given.name));
    mesh.change(unique, gone, new Map(leaving));
    expect(mesh.failures).toEqual([]);
    mesh.connect();
    for (const given of gone) known.delete(`${given.type}/${given.name}`);
    for (const given of unique) known.set(`${given.type}/${given.name}`, given);
    expect(mesh.held()).toEqual(mesh.fresh());
    expect(mesh.sent()).toEqual(mesh.held());
    const services = [...known.values()].filter(({ type }) => /^Mesh(MultiZone|External)?Service$/.test(type));
    expect(mesh.views.services).toBeLessThanOrEqual(services.length);
  }
}

class CountingEncoder extends ResourceEncoder {
  made = 0;

  override part(config: ProxyConfig): EncodedPart {
    this.made += 1;
    return super.part(config);
  }
}

const CALLED = ['a', 'b', 'c'];
/** Three services, and an access log of calls to the first. */
const calledRows: readonly Resource[] = [
  ...CALLED.map((app) => {
    const port = { port: 80, targetPort: 8080, appProtocol: 'http' };
    return make('MeshService', app, { selector: { dataplaneLabels: { matchLabels: { app } } }, ports: [port] }, { zone: 'east' });
  }),
  make('MeshAccessLog', 'a', {
    to: [
      {
        targetRef: { kind: 'MeshService', name: 'a' },
        default: { backends: [{ type: 'Tcp', tcp: { address: 'logs:9000' } }] },
      },
    ],
  }),
];

/** A Dataplane that calls the three. */
function caller(name: string): Resource {
  const outbound = CALLED.map((service, at) => ({
    port: 10_000 + at,
    backendRef: { kind: 'MeshService', name: service, port: 80 },
  }));
  return makeDataplane(name, { zone: 'east' }, { inbound: [{ port: 8080 }], outbound });
}

describe('the views of a mesh', () => {
  it('equal those of proxies that connect now, after any changes', () => {
    fc.assert(fc.property(rows, stepsOf(row), followsChanges));
  });

  it('equal those of proxies that connect now, after any changes of other zones and of external services', () => {
    const held = fc.uniqueArray(crossingRow, { selector: ({ type, name }) => `${type}/${name}`, minLength: 6, maxLength: 20 });
    fc.assert(fc.property(held, stepsOf(crossingRow), (some, steps) => followsChanges([...callerRows, ...some], steps)));
  });

  it('are built once for proxies with different folders, except for the parts with their paths', () => {
    const encoder = new CountingEncoder();
    const mesh = new FollowedMesh([...calledRows, caller('one')], encoder);
    encoder.made = 0;
    mesh.change([caller('two')], []);
    mesh.connect();
    // What it has beside its outbounds, and the listener with its address and its pipe.
    expect(encoder.made).toBe(2);
    expect(mesh.held()).toEqual(mesh.fresh());
  });

  it('keep the outbounds of a Dataplane whose health changes, and make those again that name its address', () => {
    const encoder = new CountingEncoder();
    const mesh = new FollowedMesh([...calledRows, caller('one')], encoder);
    const madeBy = (fields: Parameters<typeof edited>[1]): number => {
      encoder.made = 0;
      mesh.change([edited(caller('one'), fields)], []);
      return encoder.made;
    };
    expect([madeBy({ state: 'NotReady' }), madeBy({ address: '10.0.1.1' })]).toEqual([1, 2]);
    expect(mesh.held()).toEqual(mesh.fresh());
  });

  it('give a server name to the service that is the oldest now', () => {
    const ports = { ports: [{ port: 80 }] };
    const zoneIngress = { address: '10.0.0.1', port: 10_001, name: 'in' };
    const older = make('MeshService', 'a', ports, { zone: 'east', namespace: 'b' });
    const younger = { ...make('MeshService', 'a.b', ports, { zone: 'east' }), name: 'dotted', creationTime: new Date(1) };
    const mesh = new FollowedMesh([make('Dataplane', 'ingress', { networking: { zoneIngress } }, { zone: 'east' }), younger]);
    const steps: [Resource[], Resource[]][] = [
      [[older], []],
      [[{ ...older, spec: { ports: [{ port: 81 }] } }], []],
      [[older], []],
      [[], [older]],
    ];
    for (const [puts, removes] of steps) {
      mesh.change(puts, removes);
      expect(mesh.held()).toEqual(mesh.fresh());
      expect(mesh.sent()).toEqual(mesh.fresh());
    }
  });

  it('send the endpoints alone when an ingress, an egress or the state of another zone changes', () => {
    const mesh = new FollowedMesh(crossingRows);
    const changed = (...puts: Resource[]): unknown => {
      let found: unknown = {};
      mesh.connected.get('caller.east')?.listen({
        changed: (names) => (found = Object.fromEntries([...names].map(([type, all]) => [type, [...all.keys()].sort()]))),
        ended: () => undefined,
        failed: (error) => mesh.failures.push(error),
      });
      mesh.change(puts, []);
      return found;
    };
    const [west, everywhere] = ['kri_msvc_default_west__cart_http', 'kri_mzsvc_default___everywhere_http'];
    const endpoints = { ClusterLoadAssignment: [west, everywhere] };
    expect(changed(zoneAddress('a', 'west', '10.1.0.9'))).toEqual(endpoints);
    expect(changed(zoneAddress('a', 'south', '10.1.0.9'), zoneAddress('b', 'south', '10.1.0.8'))).toEqual({});
    expect(changed(cartOf('west', { state: 'Unavailable' }))).toEqual(endpoints);
    const moved = { ...EGRESS, port: 10_003 };
    const movedRows = [egressAt(moved), { ...payments, status: { zoneEgress: { ...moved, sni: 'egress.payments' } } }];
    expect(changed(...movedRows)).toEqual({ ClusterLoadAssignment: ['kri_extsvc_default___payments_443'] });
    expect(mesh.held()).toEqual(mesh.fresh());
  });

  it('keep up with changes while that of one proxy cannot be made', () => {
    class FailingEncoder extends ResourceEncoder {
      override part(config: ProxyConfig): EncodedPart {
        if (config.listeners.has('self_inbound_dp_bad')) throw new Error('a fault of the program');
        return super.part(config);
      }
    }
    const dataplane = (name: string, inbound: string): Resource =>
      makeDataplane(name, { zone: 'east' }, { inbound: [{ port: 8080, name: inbound }] });
    const mesh = new FollowedMesh([dataplane('one', 'good'), dataplane('two', 'good')], new FailingEncoder());
    mesh.change([dataplane('one', 'bad'), dataplane('two', 'better')], []);
    expect(mesh.failures).toHaveLength(1);
    expect([...mesh.connected.keys()]).toEqual(['two.east']);
    expect(shown(mesh.connected.get('two.east') ?? new ProxyView())).toMatchObject({
      Cluster: [expect.stringContaining('self_inbound_dp_better')],
    });
    expect(() => mesh.connect()).toThrow('a fault of the program');
    expect(mesh.views.size).toBe(1);
  });

  it('end with the stream that opened them, and not with an older stream of the proxy', () => {
    const mesh = new FollowedMesh([makeDataplane('one', { zone: 'east' })]);
    const first = mesh.connected.get('one.east') ?? new ProxyView();
    const second = mesh.views.open('one.east', WITHOUT_FEATURES) ?? new ProxyView();
    mesh.views.close('one.east', first);
    expect(mesh.views.size).toBe(1);
    mesh.views.close('one.east', second);
    expect(mesh.views.size).toBe(0);
    expect(mesh.views.open('two.east', WITHOUT_FEATURES)).toBeUndefined();
  });

  it('are made again in the parts that a change touches, and in no other', () => {
    /** Names of listeners, clusters and assignments that are made. */
    const made = new Set<string>();
    class NotingEncoder extends ResourceEncoder {
      override part(config: ProxyConfig): EncodedPart {
        for (const named of [config.listeners, config.clusters, config.assignments])
          for (const name of named.keys()) made.add(name);
        return super.part(config);
      }
    }
    const service = (name: string): Resource => {
      const spec = {
        selector: { dataplaneLabels: { matchLabels: { app: name } } },
        ports: [{ name: 'http', port: 80, appProtocol: 'http' }],
      };
      return make('MeshService', name, spec, { zone: 'east' });
    };
    const dataplane = (name: string, app: string, ...to: string[]): Resource => {
      const outbound = to.map((called, at) => ({
        port: 10_000 + at,
        backendRef: { kind: 'MeshService', name: called, port: 80 },
      }));
      return makeDataplane(name, { zone: 'east', labels: { app } }, { outbound, inbound: [{ port: 8080, name }] });
    };
    const timeout = (ref: object, top?: string): Resource => {
      const targetRef = top === undefined ? undefined : { kind: 'Dataplane', name: top };
      return makeTo('MeshTimeout', 't', { kind: 'Mesh', ...ref }, { connectionTimeout: '1s' }, {}, targetRef);
    };
    const held = [service('a'), service('b'), dataplane('one', 'one', 'a', 'b'), dataplane('two', 'two', 'b')];
    const mesh = new FollowedMesh(held, new NotingEncoder());
    const madeBy = (puts: readonly Resource[], removes: readonly Resource[] = []): string[] => {
      made.clear();
      mesh.change(puts, removes);
      return [...made].sort();
    };
    const [a, b] = ['a', 'b'].map((name) => `kri_msvc_default_east__${name}_http`);
    const toA = { kind: 'MeshService', name: 'a' };
    expect(madeBy([timeout(toA)])).toEqual([a]);
    expect(madeBy([timeout({ kind: 'MeshService', name: 'none' })])).toEqual([a]);
    expect(madeBy([timeout({})])).toEqual([a, b]);
    expect(madeBy([], [timeout({})])).toEqual([a, b]);
    expect(madeBy([timeout(toA, 'two')])).not.toContain('self_inbound_dp_one');
    expect(madeBy([], [timeout(toA, 'two')])).not.toContain('self_inbound_dp_one');
    expect(madeBy([dataplane('a-1', 'a')])).toEqual([a]);
    expect(madeBy([dataplane('lonely', 'lonely')])).toEqual([]);
    expect(
      madeBy([make('MeshTimeout', 'in', { targetRef: { kind: 'Dataplane', name: 'one' }, rules: [{ default: {} }] })]),
    ).toEqual(expect.arrayContaining(['self_inbound_dp_one']));
    expect(madeBy([make('HostnameGenerator', 'h', {})])).toEqual([]);
  });
});
