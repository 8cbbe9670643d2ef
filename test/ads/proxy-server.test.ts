// Proxies that speak as Envoy does, at a port of a zone: what each is sent, and what it is not sent again.
import { Duplex } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { credentials, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ProxyEvent } from '../../src/ads/proxy-events.ts';
import { ProxyServer, type ProxyServerOptions } from '../../src/ads/proxy-server.ts';
import { ResourceEncoder } from '../../src/ads/encode-resources.ts';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { createAuthority } from '../../src/identity/authority.ts';
import { MeshIndexes } from '../../src/mesh-index/mesh-indexes.ts';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { PERMITS_ALL, type ProxyPermit } from '../../src/resource/proxy-permit.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES } from '../../src/xds/proxy-features.ts';
import { make, makeDataplane } from '../policy/make-resource.ts';
import { authorityRows } from '../../src/reconcile/identities/plan-identity.ts';
import type { ProxyStream } from '../../src/proxy-port/proxy-stream.ts';
import { encodeDeltaRequest } from '../../src/wire/kds-messages.ts';
import { encodeStruct } from '../../src/wire/struct.ts';
import { ending, OpenPort } from '../proxy-port/open-port.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { PlayedProxy, type PlayedProxyOptions } from './played-proxy.ts';

/** A first request without its node. */
const FIRST = {
  typeUrl: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
  ...{ subscribe: [], unsubscribe: [], initialResourceVersions: new Map(), responseNonce: '', errorDetail: null },
};
const log = createLogger('error');
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const CART = 'kri_msvc_default_east__cart_80';
const CATALOG = 'kri_msvc_default_east__catalog_80';

function service(name: string): Resource {
  const spec = {
    selector: { dataplaneLabels: { matchLabels: { app: name } } },
    ports: [{ port: 80, targetPort: 8080, appProtocol: 'http' }],
  };
  return make('MeshService', name, spec, { zone: 'east' });
}

function dataplane(name: string, app: string, outbounds: readonly string[], state = 'Ready', listens = 8080): Resource {
  const inbound = [{ port: listens, name: 'http', protocol: 'http', state }];
  const outbound = outbounds.map((to, at) => ({ port: 10_000 + at, backendRef: { kind: 'MeshService', name: to, port: 80 } }));
  return makeDataplane(name, { zone: 'east', labels: { app } }, { inbound, outbound });
}

function route(to: string, path: string): Resource {
  const rules = [{ matches: [{ path: { type: 'PathPrefix', value: path } }], default: {} }];
  return make('MeshHTTPRoute', 'r', { to: [{ targetRef: { kind: 'MeshService', name: to }, rules }] }, { zone: 'east' });
}

let stop: AbortController;
let store: TinyStore;
let indexes: MeshIndexes;
let port: OpenPort;
let server: ProxyServer;
let events: ProxyEvent[];
let proxies: PlayedProxy[];
/** Who holds Dataplanes that proxies brought: `name run stream`, and `name released stream`. */
let holders: string[];
/** Reads of Dataplanes so far; each ends after `mayRead`. */
let asked: number;
let mayRead: Promise<void>;

async function put(...rows: Resource[]): Promise<void> {
  for (const { type, mesh, name, labels, spec } of rows)
    await store.write({ op: 'put', key: { type, mesh, name }, labels, spec });
}

/**
 * A control plane on the same store.
 * @param secrets where it reads authorities
 */
async function startServer(clock: Clock = systemClock, secrets: ProxyServerOptions['store'] = store): Promise<void> {
  stop = new AbortController();
  indexes = new MeshIndexes({ store, log, clock: systemClock, signal: stop.signal });
  server = new ProxyServer({
    ...{ indexes, zone: 'east', instanceId: 'one', store: secrets, clock, log },
    dataplanes: {
      read: (text, { mesh, name }) => ({ ...(JSON.parse(text) as Pick<Resource, 'labels' | 'spec'>), mesh, name }),
      stored: async (mesh, name) => {
        asked += 1;
        await mayRead;
        return (await store.get({ type: 'Dataplane', mesh, name })) ?? null;
      },
      register: async (given, { run, streamId }) => {
        holders.push(`${given.name} ${run} ${streamId}`);
        await store.write({ op: 'put', key: { type: 'Dataplane', mesh: given.mesh, name: given.name }, ...specOf(given) });
      },
      release: ({ name, streamId }) => void holders.push(`${name} released ${streamId}`),
    },
    observe: (event) => void events.push(event),
  });
  port = await new OpenPort().start({ type: 'none', serve: server.serve });
}

function specOf({ labels, spec }: Pick<Resource, 'labels' | 'spec'>): Pick<Resource, 'labels' | 'spec'> {
  return { labels, spec };
}

async function stopServer(): Promise<void> {
  await port.close();
  stop.abort();
  await indexes.ended();
}

beforeEach(async () => {
  events = [];
  proxies = [];
  holders = [];
  [asked, mayRead] = [0, Promise.resolve()];
  store = new TinyStore();
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
  await put(service('cart'), service('catalog'));
  await put(dataplane('web', 'web', ['cart', 'catalog']), dataplane('cart-1', 'cart', []), dataplane('catalog-1', 'catalog', []));
  await startServer();
});
afterEach(async () => {
  for (const proxy of proxies) proxy.disconnect();
  await stopServer();
});

function play(name: string, more: Partial<PlayedProxyOptions> = {}): PlayedProxy {
  const proxy = new PlayedProxy({
    get address() {
      return `localhost:${String(port.port)}`;
    },
    credentials: credentials.createSsl(null, null, null, { rejectUnauthorized: false }),
    mesh: 'default',
    name: `${name}.east`,
    ...more,
  });
  proxies.push(proxy);
  return proxy;
}

async function connected(name: string, more: Partial<PlayedProxyOptions> = {}): Promise<PlayedProxy> {
  const proxy = play(name, more);
  proxy.connect();
  await expect.poll(() => proxy.isWarm && proxy.names('RouteConfiguration').length > 0).toBe(true);
  return proxy;
}

/** Versions by type, of what the proxy holds. */
function held(proxy: PlayedProxy): JsonObject {
  const entries = [...proxy.held].map(([type, named]): [string, JsonObject] => [
    type,
    Object.fromEntries([...named].map(([name, { version }]): [string, string] => [name, version]).sort()),
  ]);
  return Object.fromEntries(entries.filter(([, named]) => Object.keys(named).length > 0));
}

/** The same, made from the rows of the store. */
async function expectedOf(name: string): Promise<JsonObject> {
  const index = new MeshIndex('default', store.rows.values());
  const proxy = index.proxy(`${name}.east`);
  if (proxy === undefined) throw new Error(`no Dataplane ${name}`);
  const { resources } = new ResourceEncoder().part(proxyConfig(index, proxy, WITHOUT_FEATURES));
  const found: Record<string, Record<string, string>> = {};
  for (const { type, resource } of resources) (found[type] ??= {})[resource.name] = resource.version;
  return await Promise.resolve(found);
}

/** Lines «type name» of what arrives from now on. */
function arrivals(): { lines: string[]; onResponse: NonNullable<PlayedProxyOptions['onResponse']> } {
  const lines: string[] = [];
  return { lines, onResponse: (type, names) => void lines.push(...names.map((name) => `${type} ${name}`)) };
}

describe('the stream of a proxy', () => {
  it('keeps nothing of its first request, whose node names every extension of an Envoy', async () => {
    const duplex = new Duplex({ objectMode: true, read: () => undefined, write: (_message, _encoding, done) => done() });
    const call = Object.assign(duplex, { cancelled: false }) as unknown as ProxyStream['call'];
    const metadata = encodeStruct({ extensions: 'x'.repeat(50_000) });
    const kept = pushed(duplex, encodeDeltaRequest({ ...FIRST, node: { id: 'default.web.east', metadata } }));
    const letIn = (): Promise<ProxyPermit> => Promise.resolve(PERMITS_ALL);
    const served = server.serve({
      id: 'one',
      peer: 'here',
      call,
      log,
      identify: async () => undefined,
      admit: letIn,
      end: () => undefined,
    });
    await expect.poll(() => events.map(({ kind }) => kind)).toContain('sent');
    await expect
      .poll(() => {
        collectGarbage();
        return kept.deref();
      })
      .toBeUndefined();
    duplex.push(null);
    await served;
  });
});

it('a first request that cannot be served ends the stream with the reason, and leaves no state', async () => {
  const duplex = new Duplex({ objectMode: true, read: () => undefined, write: (_message, _encoding, done) => done() });
  const call = Object.assign(duplex, { cancelled: false }) as unknown as ProxyStream['call'];
  const subscribe = Array.from({ length: 100_001 }, (_, at) => `a${String(at)}`);
  duplex.push(encodeDeltaRequest({ ...FIRST, subscribe, node: { id: 'default.web.east', metadata: encodeStruct({}) } }));
  const letIn = (): Promise<ProxyPermit> => Promise.resolve(PERMITS_ALL);
  const served = server.serve({
    id: 'one',
    peer: 'here',
    call,
    log,
    identify: async () => undefined,
    admit: letIn,
    end: () => undefined,
  });
  await expect(served).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  expect([events.map(({ kind }) => kind), server.size]).toEqual([['opened', 'closed'], 0]);
});

describe('a stream that is not admitted', () => {
  it.each([
    ['with its own Dataplane', JSON.stringify(specOf(dataplane('guest', 'guest', []))), 'guest'],
    ['with its own Dataplane in the place of a stored one', JSON.stringify(specOf(dataplane('web', 'web', []))), 'web'],
    ['with a stored Dataplane', '', 'web'],
  ])('registers nothing, sends nothing and leaves no state, %s', async (_, brought, name) => {
    const duplex = new Duplex({ objectMode: true, read: () => undefined, write: (_message, _encoding, done) => done() });
    const call = Object.assign(duplex, { cancelled: false }) as unknown as ProxyStream['call'];
    const metadata = encodeStruct(brought === '' ? {} : { 'dataplane.resource': brought });
    duplex.push(encodeDeltaRequest({ ...FIRST, node: { id: `default.${name}.east`, metadata } }));
    const refused = Promise.withResolvers<ProxyPermit>();
    const admitted: unknown[] = [];
    const admit = (...dataplanes: readonly { readonly name: string }[]): Promise<ProxyPermit> => {
      admitted.push(...dataplanes.map((one) => one.name));
      return refused.promise;
    };
    const identify = (): Promise<void> => Promise.resolve();
    const serving = server.serve({ id: 'one', peer: 'here', call, log, identify, admit, end: () => undefined });
    const ended = expect(serving).rejects.toThrow('the token is for another Dataplane');
    await expect.poll(() => admitted.length).toBeGreaterThan(0);
    refused.reject(new Error('the token is for another Dataplane'));
    await ended;
    expect(admitted).toEqual(brought !== '' && name === 'web' ? ['web.east', 'web.east'] : [`${name}.east`]);
    expect([holders, events, server.size]).toEqual([[], [], 0]);
    expect(await store.get({ type: 'Dataplane', mesh: 'default', name: 'guest.east' })).toBeUndefined();
  });
});

/** Pushes a message. @returns its memory, for as long as something holds it */
function pushed(duplex: Duplex, message: Buffer): WeakRef<ArrayBufferLike> {
  const bytes = Buffer.allocUnsafeSlow(message.length);
  message.copy(bytes);
  duplex.push(bytes);
  return new WeakRef(bytes.buffer);
}

describe('a proxy', () => {
  it('holds what its Dataplane, its services and its policies give', async () => {
    const proxy = await connected('web');
    expect(held(proxy)).toEqual(await expectedOf('web'));
    expect(server.size).toBe(1);
  });

  it('has its problems reported when its stream opens, and when they change', async () => {
    await put(dataplane('web', 'web', ['cart', 'none']));
    await connected('web');
    const problems = (): unknown[] =>
      events.flatMap((event) => (event.kind === 'problems' ? [event.problems.map(({ field }) => field)] : []));
    expect(problems()).toEqual([['networking.outbound[1].backendRef']]);
    await put(service('none'));
    await expect.poll(problems).toEqual([['networking.outbound[1].backendRef'], []]);
  });

  it('gets a changed route alone', async () => {
    const { lines, onResponse } = arrivals();
    const proxy = await connected('web', { onResponse });
    lines.length = 0;
    await put(route('cart', '/one'));
    await expect.poll(() => lines).toEqual([`RouteConfiguration ${CART}`]);
    expect(held(proxy)).toEqual(await expectedOf('web'));
  });

  it('gets a changed endpoint alone, and nothing for a status', async () => {
    const { lines, onResponse } = arrivals();
    const proxy = await connected('web', { onResponse });
    lines.length = 0;
    const { labels, spec } = service('cart');
    const key = { type: 'MeshService', mesh: 'default', name: service('cart').name };
    await store.write({ op: 'put', key, labels, spec, status: { dataplaneProxies: { connected: 1 } } });
    await put(dataplane('catalog-1', 'catalog', [], 'NotReady'));
    await expect.poll(() => lines).toEqual([`ClusterLoadAssignment ${CATALOG}`]);
    expect(held(proxy)).toEqual(await expectedOf('web'));
  });

  it('gets nothing again when it reconnects to another control plane with its resources', async () => {
    const { lines, onResponse } = arrivals();
    const proxy = await connected('web', { onResponse });
    const before = held(proxy);
    await stopServer();
    await expect.poll(() => proxy.ended).not.toBeNull();
    await put(route('cart', '/while-away'));
    await startServer();
    lines.length = 0;
    proxy.disconnect();
    proxy.connect();
    await expect.poll(() => lines).toEqual([`RouteConfiguration ${CART}`]);
    expect(held(proxy)).toEqual(await expectedOf('web'));
    expect(held(proxy)).not.toEqual(before);
  });

  it('loses unused resources after the other changes', async () => {
    const removals: string[] = [];
    const proxy = await connected('web', {
      onResponse: (type, names, removed) => void removals.push(...removed.map((name) => `${type} ${name}`)),
    });
    await put(dataplane('web', 'web', ['cart']));
    await expect.poll(() => proxy.names('Cluster').includes(CATALOG)).toBe(false);
    expect(removals).toEqual(['Listener 127.0.0.1:10001', `Cluster ${CATALOG}`]);
    expect(held(proxy)).toEqual(await expectedOf('web'));
  });

  it('ends an older stream of its Dataplane with the reason', async () => {
    const first = await connected('web');
    await connected('web');
    await expect.poll(() => first.ended).toMatchObject({ code: 1, details: expect.stringContaining('another stream') as string });
    expect(server.size).toBe(1);
  });

  it('is refused by name when its Dataplane does not exist', async () => {
    const proxy = play('missing');
    proxy.connect();
    await expect.poll(() => proxy.ended).toMatchObject({ code: 5, details: expect.stringContaining('"missing.east"') as string });
  });

  it('ends with NOT_FOUND when its Dataplane is deleted', async () => {
    const proxy = await connected('web');
    await store.write({ op: 'delete', key: { type: 'Dataplane', mesh: 'default', name: 'web.east' } });
    await expect.poll(() => proxy.ended).toMatchObject({ code: 5 });
    await expect.poll(() => server.size).toBe(0);
  });

  it('keeps its version of a refused resource, and gets the resource again only after a change', async () => {
    let refuses = false;
    const proxy = await connected('web', {
      refuse: (type, names) =>
        refuses && type === 'RouteConfiguration' && names.includes(CART) ? `${CART}: duplicate domain` : null,
    });
    refuses = true;
    await put(route('cart', '/bad'));
    await expect.poll(() => events.filter(({ kind }) => kind === 'refused')).toHaveLength(1);
    expect(events.find(({ kind }) => kind === 'refused')).toMatchObject({
      type: 'RouteConfiguration',
      refusals: [{ name: CART, reason: `${CART}: duplicate domain` }],
    });
    await put(route('catalog', '/good'));
    await expect.poll(() => held(proxy)['RouteConfiguration']).toBeDefined();
    refuses = false;
    await put(route('cart', '/mended'));
    await expect.poll(() => held(proxy)).toEqual(await expectedOf('web'));
  });

  it('holds the Dataplane that it brings until its stream ends, and none that is stored', async () => {
    const brought = JSON.stringify(specOf(dataplane('guest', 'guest', ['cart'])));
    const metadata = { 'dataplane.resource': brought, 'meridian.run': 'run-1' };
    const guest = await connected('guest', { metadata });
    expect(held(guest)).toEqual(await expectedOf('guest'));
    const stream = (kind: string): string =>
      events.find((event) => event.kind === kind && event.name === 'guest.east')?.streamId ?? '';
    expect(holders).toEqual([`guest.east run-1 ${stream('opened')}`]);
    guest.disconnect();
    await expect.poll(() => holders[1]).toBe(`guest.east released ${stream('opened')}`);
    expect(stream('closed')).toBe(stream('opened'));
    const web = await connected('web');
    web.disconnect();
    await expect.poll(() => server.size).toBe(0);
    await expect.poll(() => events.filter(({ kind }) => kind === 'closed')).toHaveLength(2);
    expect(holders).toHaveLength(2);
  });

  it('ends when it has a newer stream at another control plane, and not for an older one', async () => {
    const proxy = await connected('web');
    const { streamId = '' } = events.find(({ kind }) => kind === 'opened') ?? {};
    const web = { mesh: 'default', name: 'web.east' };
    server.supersede(web, 'an older stream');
    server.supersede({ mesh: 'default', name: 'cart-1.east' }, streamId);
    expect(server.size).toBe(1);
    await put(route('cart', '/still'));
    await expect.poll(() => held(proxy)).toEqual(await expectedOf('web'));
    server.supersede(web, streamId);
    await expect
      .poll(() => proxy.ended)
      .toMatchObject({
        code: status.CANCELLED,
        details: 'a newer stream of the same Dataplane is open at another control plane',
      });
  });

  it('of a mesh that does not exist is refused by the name of the mesh, and served once the mesh exists', async () => {
    await put(dataplane('lost', 'lost', ['cart']));
    const { labels, spec } = dataplane('lost', 'lost', []);
    await store.write({ op: 'put', key: { type: 'Dataplane', mesh: 'later', name: 'lost.east' }, labels, spec });
    const proxy = play('lost', { mesh: 'later' });
    proxy.connect();
    await expect
      .poll(() => proxy.ended)
      .toMatchObject({
        code: status.NOT_FOUND,
        details: 'mesh "later" does not exist',
      });
    await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'later' }, labels: {}, spec: {} });
    proxy.disconnect();
    proxy.connect();
    await expect.poll(() => proxy.isWarm).toBe(true);
  });

  it('that asks for an unknown type goes on with the others', async () => {
    const proxy = await connected('web');
    proxy.askFor('type.googleapis.com/envoy.service.runtime.v3.Runtime');
    await put(route('cart', '/still'));
    await expect.poll(() => held(proxy)).toEqual(await expectedOf('web'));
  });
});

it('the first proxies of a mesh, which come together, all get a change', async () => {
  // The Dataplanes of all are read before the views of the mesh are made.
  const { promise, resolve } = Promise.withResolvers<void>();
  mayRead = promise;
  const played = ['web', 'cart-1', 'catalog-1'].map((name) => play(name));
  for (const proxy of played) proxy.connect();
  await expect.poll(() => asked).toBe(3);
  resolve();
  await expect.poll(() => played.every(({ isWarm }) => isWarm)).toBe(true);
  const sentTo = (): Set<string> => new Set(events.flatMap((event) => (event.kind === 'sent' ? [event.name] : [])));
  await expect.poll(() => sentTo().size).toBe(3);
  events = [];
  await put(...['web', 'cart-1', 'catalog-1'].map((name) => dataplane(name, 'other', [], 'Ready', 8081)));
  await expect.poll(() => sentTo().size).toBe(3);
});

it('a proxy whose mesh is deleted during its admission is not served', async () => {
  await connected('cart-1');
  const duplex = new Duplex({ objectMode: true, read: () => undefined, write: (_message, _encoding, done) => done() });
  const call = Object.assign(duplex, { cancelled: false }) as unknown as ProxyStream['call'];
  duplex.push(encodeDeltaRequest({ ...FIRST, node: { id: 'default.web.east', metadata: encodeStruct({}) } }));
  const [asks, letIn] = [Promise.withResolvers<void>(), Promise.withResolvers<ProxyPermit>()];
  const admit = (): Promise<ProxyPermit> => {
    asks.resolve();
    return letIn.promise;
  };
  const identify = (): Promise<void> => Promise.resolve();
  const serving = server.serve({ id: 'one', peer: 'here', call, log, identify, admit, end: () => undefined });
  const refused = expect(serving).rejects.toThrow('"web.east" of mesh "default" does not exist');
  await asks.promise;
  await store.write({ op: 'delete', key: { type: 'Mesh', mesh: '', name: 'default' } });
  await expect.poll(() => server.size).toBe(0);
  letIn.resolve(PERMITS_ALL);
  await refused;
});

it('proxies that come together are served in different turns of the event loop, when each takes long', async () => {
  await stopServer();
  // By this clock all work takes longer than a slice.
  let elapsed = 0;
  await startServer({ ...systemClock, elapsed: () => (elapsed += 1_000) });
  const names = Array.from({ length: 10 }, (_, index) => `many-${String(index)}`);
  await put(...names.map((name) => dataplane(name, 'web', ['cart'])));
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  const turns: number[] = [];
  const record = events.push.bind(events);
  events.push = (...more) => {
    for (const { kind } of more) if (kind === 'opened') turns.push(turn);
    return record(...more);
  };
  count();
  const together = Promise.withResolvers<void>();
  mayRead = together.promise;
  for (const name of names) play(name).connect();
  await vi.waitFor(() => expect(asked).toBe(names.length));
  together.resolve();
  await vi.waitFor(() => expect(turns).toHaveLength(names.length));
  isOver = true;
  expect(new Set(turns).size).toBe(names.length);
});

describe('a proxy with an identity', () => {
  let clock: ManualClock;
  let gate: PromiseWithResolvers<void>;
  let reads: number;

  beforeEach(async () => {
    await stopServer();
    clock = new ManualClock();
    [gate, reads] = [Promise.withResolvers(), 0];
    const identity = { type: 'MeshIdentity', mesh: 'default', name: 'identity' };
    const authority = await createAuthority('shop', clock.now());
    await put(...authorityRows(identity, authority, clock.now()));
    const caBundles = [{ type: 'Pem', pem: { value: authority.certPem } }];
    await put(make('MeshTrust', 'identity', { trustDomain: 'shop', caBundles }));
    // Renewals within a minute have a timer each, which the tests count.
    const bundled = { autogenerate: { enabled: true }, certificateParameters: { expiry: '60s' } };
    const spec = {
      selector: { dataplane: { matchLabels: {} } },
      spiffeID: { trustDomain: 'shop', path: '/any' },
      provider: { type: 'Bundled', bundled },
    };
    const status = { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }] };
    await store.write({ op: 'put', key: identity, labels: { 'kuma.io/zone': 'east' }, spec, status });
    await startServer(clock, {
      getMany: async (keys) => {
        reads += 1;
        await gate.promise;
        return await store.getMany(keys);
      },
    });
  });

  it('that waits for the store does not delay the answers to others', async () => {
    gate.resolve();
    const web = await connected('web');
    gate = Promise.withResolvers();
    play('cart-1').connect();
    await expect.poll(() => reads).toBe(2);
    // The index cannot follow this change, and a new proxy waits for the index.
    const getMany = store.getMany.bind(store);
    const index = Promise.withResolvers<void>();
    let isHeld = false;
    store.getMany = async (keys) => {
      isHeld = true;
      await index.promise;
      return await getMany(keys);
    };
    await put(dataplane('cart-1', 'cart', ['catalog']));
    await expect.poll(() => isHeld).toBe(true);
    store.getMany = getMany;
    gate.resolve();
    await expect.poll(() => clock.sleepers).toBe(2);
    web.subscribe('ClusterLoadAssignment', CART);
    const answers = (): number => events.filter(({ kind, name }) => kind === 'sent' && name === 'web.east').length;
    const before = answers();
    await expect.poll(answers).toBeGreaterThan(before);
    expect(server.size).toBe(2);
    index.resolve();
  });

  it('is sent nothing before it has its certificate, and TLS with the first response', async () => {
    const web = play('web');
    web.connect();
    await expect.poll(() => reads).toBe(1);
    // Whatever was sent without a certificate is sent once both have followed.
    for (let time = 0; time < 3; time += 1) await indexes.settled('default', () => undefined);
    expect(events).toEqual([]);
    gate.resolve();
    await expect.poll(() => web.isWarm).toBe(true);
    const [first] = events.filter(({ kind }) => kind === 'tls');
    expect(first).toMatchObject({ tls: { identity: expect.stringContaining('identity') as string } });
  });

  it('has its certificate renewed on its newer stream, also when the older one ends later', async () => {
    gate.resolve();
    const duplex = new Duplex({ objectMode: true, read: () => undefined, write: (_message, _encoding, done) => done() });
    const call = Object.assign(duplex, { cancelled: false }) as unknown as ProxyStream['call'];
    duplex.push(encodeDeltaRequest({ ...FIRST, node: { id: 'default.web.east', metadata: encodeStruct({}) } }));
    const letIn = (): Promise<ProxyPermit> => Promise.resolve(PERMITS_ALL);
    const older = server.serve({
      id: 'older',
      peer: 'here',
      call,
      log,
      identify: async () => undefined,
      admit: letIn,
      end: () => undefined,
    });
    await expect.poll(() => events.map(({ kind }) => kind)).toContain('sent');
    await connected('web');
    duplex.push(null);
    await older;
    expect([reads, server.size, clock.sleepers]).toEqual([1, 1, 1]);
    await clock.advance(60_000);
    await expect.poll(() => reads).toBe(2);
  });

  it('that leaves before it has its certificate is not renewed', async () => {
    const left = play('web');
    left.connect();
    await expect.poll(() => reads).toBe(1);
    left.disconnect();
    await expect.poll(() => server.size).toBe(0);
    gate.resolve();
    const stays = await connected('cart-1');
    await expect.poll(() => server.size).toBe(1);
    expect(clock.sleepers).toBe(1);
    stays.disconnect();
    await expect.poll(() => clock.sleepers).toBe(0);
  });
});

it.each([
  ['no message', [Buffer.from([0x0a, 5, 1])]],
  [
    'no message after a good one',
    [encodeDeltaRequest({ ...FIRST, node: { id: 'default.web.east' } }), Buffer.from([0x0a, 5, 1])],
  ],
])('a proxy that sends %s is refused with INVALID_ARGUMENT', async (_, messages) => {
  const call = port.stream('');
  const ended = ending(call);
  for (const message of messages) call.write(message);
  const { code, details } = await ended;
  expect([code, details]).toEqual([status.INVALID_ARGUMENT, expect.stringContaining('cannot read a DeltaDiscoveryRequest')]);
});
