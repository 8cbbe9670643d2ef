// The names of a proxy with kuma-dp, between a zone and a proxy that speaks as Envoy does: the proxy has the listeners of each name that it is
// sent, at any time.
import { credentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ProxyServer } from '../../src/ads/proxy-server.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { MeshIndexes } from '../../src/mesh-index/mesh-indexes.ts';
import { objectsOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { envoyBinaryToJson } from '../../src/wire/binary-to-json.ts';
import { make, makeDataplane } from '../policy/make-resource.ts';
import { OpenPort } from '../proxy-port/open-port.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { PlayedProxy } from './played-proxy.ts';

const KUMA_DP = { workdir: '/run', features: ['feature-otel-via-kuma-dp'], 'dataplane.dns.port': '15053' };
const REDIRECTED = { redirectPortInbound: 15006, redirectPortOutbound: 15001 };
/** The empty document of a proxy that has never had another one is its first. */
type Seen = { readonly names: readonly string[]; readonly listeners: readonly string[] };

let store: TinyStore;
let port: OpenPort;
let stop: AbortController;
let indexes: MeshIndexes;
let proxy: PlayedProxy;
/** What the proxy had after each response. */
let seen: Seen[];
let refuses: (names: readonly string[]) => boolean;

async function service(name: string, address: string, ports = [80], type = 'MeshService'): Promise<void> {
  const spec = { selector: { dataplaneLabels: { matchLabels: { app: name } } }, ports: portsOf(ports) };
  const { labels } = make(type, name, spec, { zone: 'east' });
  const status = { vips: [{ ip: address }], addresses: [{ hostname: `${name}.mesh` }] };
  await store.write({ op: 'put', key: { type, mesh: 'default', name: `${name}.east` }, labels, spec, status });
}

function portsOf(ports: readonly number[]): JsonObject[] {
  return ports.map((number) => ({ port: number, targetPort: 8080, appProtocol: 'http' }));
}

async function remove(name: string): Promise<void> {
  await store.write({ op: 'delete', key: { type: 'MeshService', mesh: 'default', name: `${name}.east` } });
}

/** `name address` of each record that the proxy has. */
function records(): string[] {
  const listener = proxy.held.get('Listener')?.get('system_dynamicconfig');
  if (listener === undefined) return [];
  const json = JSON.stringify(envoyBinaryToJson('envoy.config.listener.v3.Listener', listener.resource));
  const text = JSON.parse(`"${/"inlineString":"((?:[^"\\]|\\.)*)"/.exec(json)?.[1] ?? ''}"`) as string;
  const { records: list } = JSON.parse(text) as { records: unknown };
  return objectsOf(list).map(({ name, ips }) => `${textOf(name)} ${Array.isArray(ips) ? textOf(ips[0]) : ''}`);
}

beforeEach(async () => {
  [store, stop, seen, refuses] = [new TinyStore(), new AbortController(), [], () => false];
  const log = createLogger('error');
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: 'default' }, labels: {}, spec: {} });
  const networking = { inbound: [{ port: 8080 }], transparentProxying: REDIRECTED };
  const { labels, spec } = makeDataplane('web', { zone: 'east' }, networking);
  await store.write({ op: 'put', key: { type: 'Dataplane', mesh: 'default', name: 'web.east' }, labels, spec });
  indexes = new MeshIndexes({ store, log, clock: systemClock, signal: stop.signal });
  const server = new ProxyServer({
    ...{ indexes, zone: 'east', instanceId: 'one', store, clock: systemClock, log },
    dataplanes: {
      read: () => {
        throw new Error('the proxy brings none');
      },
      stored: async (mesh, name) => (await store.get({ type: 'Dataplane', mesh, name })) ?? null,
      register: async () => undefined,
      release: () => undefined,
    },
    observe: () => undefined,
  });
  port = await new OpenPort().start({ type: 'none', serve: server.serve });
  proxy = new PlayedProxy({
    address: `localhost:${String(port.port)}`,
    credentials: credentials.createSsl(null, null, null, { rejectUnauthorized: false }),
    ...{ mesh: 'default', name: 'web.east', metadata: KUMA_DP },
    refuse: (type, names) => (type === 'Listener' && refuses(names) ? 'no' : null),
    onResponse: () => void seen.push({ names: records(), listeners: proxy.names('Listener') }),
  });
});
afterEach(async () => {
  proxy.disconnect();
  // A name is there only with the listener at its address.
  for (const { names, listeners } of seen)
    for (const name of names) expect(listeners).toContain(`${name.split(' ')[1] ?? ''}:80`);
  await port.close();
  stop.abort();
  await indexes.ended();
});

it('come and go after and before their listeners', async () => {
  await service('cart', '241.0.0.1');
  proxy.connect();
  await expect.poll(records).toEqual(['cart.mesh 241.0.0.1']);
  expect(seen.some(({ names, listeners }) => names.length === 0 && listeners.length > 0)).toBe(true);
  await service('catalog', '241.0.0.2', [80, 90]);
  await expect.poll(records).toEqual(['cart.mesh 241.0.0.1', 'catalog.mesh 241.0.0.2']);
  expect(proxy.names('Listener')).toContain('241.0.0.2:90');
  await remove('cart');
  await expect
    .poll(() => [records(), proxy.names('Listener').includes('241.0.0.1:80')])
    .toEqual([['catalog.mesh 241.0.0.2'], false]);
});

it('stay while their service changes its ports and its address', async () => {
  await service('cart', '241.0.0.1');
  proxy.connect();
  await expect.poll(records).toEqual(['cart.mesh 241.0.0.1']);
  const from = seen.length;
  await service('cart', '241.0.0.1', [80, 90]);
  await service('cart', '241.0.0.9', [80, 90]);
  await expect
    .poll(() => [records(), proxy.names('Listener').includes('241.0.0.1:80')])
    .toEqual([['cart.mesh 241.0.0.9'], false]);
  expect(seen.slice(from).map(({ names }) => names.length)).not.toContain(0);
});

it('wait for a listener that the proxy refuses', async () => {
  await service('cart', '241.0.0.1');
  refuses = (names) => names.includes('241.0.0.2:80');
  proxy.connect();
  await expect.poll(records).toEqual(['cart.mesh 241.0.0.1']);
  await service('catalog', '241.0.0.2');
  await service('orders', '241.0.0.3');
  await expect.poll(records).toEqual(['cart.mesh 241.0.0.1', 'orders.mesh 241.0.0.3']);
  refuses = () => false;
  await service('catalog', '241.0.0.4');
  await expect.poll(records).toEqual(['cart.mesh 241.0.0.1', 'catalog.mesh 241.0.0.4', 'orders.mesh 241.0.0.3']);
});

it('stay over a new stream, which sends nothing again', async () => {
  await service('cart', '241.0.0.1');
  proxy.connect();
  await expect.poll(records).toEqual(['cart.mesh 241.0.0.1']);
  proxy.disconnect();
  const [from, received] = [seen.length, proxy.received];
  proxy.connect();
  await service('catalog', '241.0.0.2');
  await expect.poll(records).toEqual(['cart.mesh 241.0.0.1', 'catalog.mesh 241.0.0.2']);
  expect(seen.slice(from).map(({ names }) => names.length)).not.toContain(0);
  // A listener, its routes, a cluster, its endpoints, and the document, which is sent once.
  expect(proxy.received - received).toBeLessThanOrEqual(5);
});
