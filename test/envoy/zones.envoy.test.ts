// Traffic that crosses zones: through the ingresses of another zone, and through the egress of the own one, with identity.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthority, issueLeaf, readAuthority } from '../../src/identity/authority.ts';
import { objectOf, objectsOf, textOf } from '../../src/resource/read-json.ts';
import { kumaSni, serviceSni } from '../../src/resource/sni.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import type { Application } from './application.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { countBy } from './shares.ts';
import { PACE_MS } from './steady-requests.ts';
import { ZoneProcess } from './zone-process.ts';

const MESH = 'crossing';
const EAST = `${MESH}.east.mesh.local`;
const WEST = `${MESH}.west.mesh.local`;
const CART = `spiffe://${EAST}/workload/cart`;
const CATALOG = { type: 'MeshService', mesh: MESH, name: 'catalog', labels: { 'kuma.io/zone': 'west' } };
const OUTSIDE = { type: 'MeshExternalService', mesh: MESH, name: 'outside', labels: {} };
const SERVER = { kind: 'Dataplane', labels: { app: 'catalog' } };
const [hashed, kuma] = [serviceSni(CATALOG, 80) ?? '', kumaSni(CATALOG, 'main') ?? ''];

let planes: ZoneProcess[] = [];
let east: EnvoyMesh;
let west: EnvoyMesh;
const meshes: EnvoyMesh[] = [];
let catalog: Application;
let outside: Application;
const ports = { one: 0, two: 0, egress: 0, catalog: 0, outside: 0, server: 0 };
let first: Proxy;
let second: Proxy;
let server: Proxy;
let cart: Proxy;

const workload = (name: string): Record<string, string> => ({ app: name, 'kuma.io/workload': name });
const listener = (port: number): JsonObject => ({ address: '127.0.0.1', port });
const ingress = (port: number): JsonObject => ({
  zoneIngress: { ...listener(port), advertisedAddress: '127.0.0.1', advertisedPort: port },
});

beforeAll(async () => {
  planes = await ZoneProcess.startFleet(['east', 'west']);
  const [global, eastZone, westZone] = planes;
  if (global === undefined || eastZone === undefined || westZone === undefined) throw new Error('three control planes');
  for (const key of Object.keys(ports) as (keyof typeof ports)[]) ports[key] = await freePort();
  const put = async (path: string, type: string, name: string, spec: JsonObject): Promise<void> => {
    await global.send('PUT', `/meshes/${MESH}/${path}/${name}`, { type, mesh: MESH, name, spec });
  };
  await global.send('PUT', `/meshes/${MESH}`, { type: 'Mesh', name: MESH, skipCreatingInitialPolicies: ['*'] });
  await put('meshtrafficpermissions', 'MeshTrafficPermission', 'all', {
    rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${EAST}` } }] } }],
  });
  await put('meshidentities', 'MeshIdentity', 'identity', {
    selector: { dataplane: { matchLabels: {} } },
    provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
  });
  [east, west] = await Promise.all([EnvoyMesh.join(MESH, eastZone), EnvoyMesh.join(MESH, westZone)]);
  meshes.push(east, west);
  catalog = await west.application('catalog', 'http');
  outside = await east.application('outside', 'http');
  await put('meshexternalservices', 'MeshExternalService', 'outside', {
    match: { type: 'HostnameGenerator', port: 80, protocol: 'http' },
    endpoints: [{ address: '127.0.0.1', port: outside.port }],
  });
  await west.service('catalog', { app: 'catalog' });
  const inbound = [{ name: 'main', port: ports.server, servicePort: catalog.port, protocol: 'http' }];
  server = await west.proxy('catalog', { labels: workload('catalog'), inbound });
  await logShadows();
  first = await west.proxy('ingress-1', { labels: workload('ingress'), listeners: ingress(ports.one), isBrought: true });
  second = await west.proxy('ingress-2', { labels: workload('ingress'), listeners: ingress(ports.two) });
  await east.proxy('egress', { labels: workload('egress'), listeners: { zoneEgress: listener(ports.egress) } });
  const outbounds = [
    {
      port: ports.catalog,
      backendRef: { kind: 'MeshService', labels: { 'kuma.io/display-name': 'catalog', 'kuma.io/zone': 'west' }, port: 80 },
    },
    // It has one port.
    { port: ports.outside, backendRef: { kind: 'MeshExternalService', labels: { 'kuma.io/display-name': 'outside' } } },
  ];
  cart = await east.proxy('cart', { labels: workload('cart'), outbounds });
});
afterAll(async () => {
  await Promise.all(meshes.map((mesh) => mesh.close()));
  await Promise.all(planes.map((plane) => plane.stop()));
});

const shadowLog = (): string => join(server.folder, 'shadow.log');

/** The server logs what the shadow of its permissions says. From the start: open connections keep a listener without logs. */
async function logShadows(): Promise<void> {
  const metadata = (key: string): string => `%DYNAMIC_METADATA(envoy.filters.http.rbac:shadow_${key})%`;
  const plain = `%RESPONSE_CODE% ${metadata('engine_result')} ${metadata('effective_policy_id')}`;
  const backends = [{ type: 'File', file: { path: shadowLog(), format: { type: 'Plain', plain } } }];
  await west.put('MeshAccessLog', 'shadow', { spec: { targetRef: SERVER, rules: [{ default: { backends } }] } });
}

/** What a listener says to a TLS connection: `secure`, or why it ended. */
async function hello(port: number, options: ConnectionOptions): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['kuma'], ...options });
  try {
    await once(socket, 'secureConnect');
    // TLS 1.3 tells a client that it is refused after its handshake.
    socket.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    return bytes.toString('latin1', 0, 12);
  } catch {
    return 'refused';
  } finally {
    socket.destroy();
  }
}

/** A certificate for a client of a zone. @param isForged of an authority that has the name of the zone's */
async function certificate({ isForged = false, id = CART, of = east } = {}): Promise<ConnectionOptions> {
  const secrets = objectsOf((await of.zone.read(`/meshes/${MESH}/secrets`))['items']);
  const pem = (ending: string): string => {
    const data = secrets.find(({ name }) => textOf(name).endsWith(ending))?.['data'];
    return Buffer.from(textOf(data), 'base64').toString('utf8');
  };
  const pair = isForged ? await createAuthority(EAST, new Date()) : { certPem: pem('-root-ca'), keyPem: pem('-private-key') };
  const leaf = await issueLeaf(await readAuthority(pair), id, { now: new Date(), lifetimeMs: 3_600_000 });
  return { cert: leaf.certPem, key: leaf.keyPem };
}

const lastClient = (): string => String(catalog.seen.at(-1)?.headers['x-forwarded-client-cert'] ?? '');

describe('a service of another zone', () => {
  it('answers through the ingress there, and knows the client', async () => {
    await expect.poll(async () => (await east.get(ports.catalog)).status).toBe(200);
    expect(lastClient()).toContain(`URI=${CART}`);
  });
});

describe('an ingress', () => {
  it.each([
    ['the hashed name', hashed],
    ['the name of Kuma', kuma],
  ])('takes a client that asks by %s', async (_, servername) => {
    expect(await hello(ports.one, { servername, ...(await certificate()) })).toBe('HTTP/1.1 200');
  });

  it.each([
    ['an unknown name', 'sni.msvc.crossing.west.unknown.main'],
    ['a name of another mesh', serviceSni({ ...CATALOG, mesh: 'other' }, 80) ?? ''],
    ['the name of the cluster of its control plane', 'system_ads'],
    ['the name of its own inbound', 'self_inbound_dp_main'],
  ])('refuses %s', async (_, servername) => {
    expect(await hello(ports.one, { servername, ...(await certificate()) })).toBe('refused');
  });

  it('leads to a server that refuses a client without a certificate', async () => {
    expect(await hello(ports.one, { servername: hashed })).toBe('refused');
  });
});

describe('a MeshTrafficPermission with allowWithShadowDeny', () => {
  const POLICY = `kri_mtp_${MESH}_west__shadow_`;
  const OWN = `spiffe://${WEST}/workload/other`;
  const counted = (what: string): Promise<number> => server.sum(new RegExp(`^http\\.self_inbound_dp_main\\.rbac\\.${what}$`));
  /** Of the last request. The proxy writes it later. */
  const lastLine = async (): Promise<string | undefined> =>
    (await readFile(shadowLog(), 'utf8').catch(() => '')).trim().split('\n').at(-1);

  it.each<[whose: string, spiffeID: JsonObject, ask: () => Promise<string>]>([
    ['another zone', { type: 'Exact', value: CART }, async () => `HTTP/1.1 ${String((await east.get(ports.catalog)).status)}`],
    [
      'the own zone',
      { type: 'Prefix', value: `spiffe://${WEST}` },
      async () => hello(ports.server, { servername: hashed, ...(await certificate({ id: OWN, of: west })) }),
    ],
  ])('lets a client of %s pass, and shows the denial in the counters and in the access log', async (_, spiffeID, ask) => {
    await west.policy('MeshTrafficPermission', 'shadow', {
      targetRef: SERVER,
      rules: [{ default: { allowWithShadowDeny: [{ spiffeID }] } }],
    });
    const [shadowed, denied] = [await counted('shadow_denied'), await counted('denied')];
    expect(await ask()).toBe('HTTP/1.1 200');
    await expect.poll(() => counted('shadow_denied')).toBe(shadowed + 1);
    expect(await counted('denied')).toBe(denied);
    await expect.poll(lastLine).toBe(`200 denied ${POLICY}`);
  });

  it('shows no denial of a client that it does not name', async () => {
    const allowWithShadowDeny = [{ spiffeID: { type: 'Prefix', value: `spiffe://${WEST}` } }];
    await west.policy('MeshTrafficPermission', 'shadow', { targetRef: SERVER, rules: [{ default: { allowWithShadowDeny } }] });
    const [shadowed, allowed] = [await counted('shadow_denied'), await counted('shadow_allowed')];
    expect((await east.get(ports.catalog)).status).toBe(200);
    await expect.poll(() => counted('shadow_allowed')).toBe(allowed + 1);
    expect(await counted('shadow_denied')).toBe(shadowed);
    await expect.poll(lastLine).toMatch(/^200 allowed/);
  });
});

describe('an egress', () => {
  const servername = serviceSni(OUTSIDE, 80) ?? '';

  it('leads to a service outside of the mesh', async () => {
    await expect.poll(async () => (await east.get(ports.outside)).status).toBe(200);
    expect(outside.seen.at(-1)?.headers).not.toHaveProperty('x-forwarded-client-cert');
  });

  it('takes a client with a certificate of the mesh', async () => {
    expect(await hello(ports.egress, { servername, ...(await certificate()) })).toBe('HTTP/1.1 200');
  });

  it('refuses a client without a certificate, and one with a forged one', async () => {
    expect(await hello(ports.egress, { servername })).toBe('refused');
    expect(await hello(ports.egress, { servername, ...(await certificate({ isForged: true })) })).toBe('refused');
  });

  it('refuses a client that is not permitted', async () => {
    const client = { servername, ...(await certificate()) };
    const deny = [{ spiffeID: { type: 'Exact', value: CART }, sni: { type: 'Exact', value: kumaSni(OUTSIDE, '80') ?? '' } }];
    const targetRef = { kind: 'Dataplane', labels: { app: 'egress' } };
    await east.put('MeshTrafficPermission', 'no-cart', { spec: { targetRef, rules: [{ default: { deny } }] } });
    await expect.poll(() => hello(ports.egress, client)).toBe('HTTP/1.1 403');
    await east.delete('MeshTrafficPermission', 'no-cart');
    await expect.poll(() => hello(ports.egress, client)).toBe('HTTP/1.1 200');
  });
});

it('an ingress that ends takes no requests with it for long', async () => {
  await first.stop();
  await expect
    .poll(async () => {
      const answers = await east.many(20, ports.catalog);
      return answers.filter(({ status }) => status !== 200).length;
    })
    .toBe(0);
});

it('an ingress is published when its Envoy listens, and not before', async () => {
  const published = async (): Promise<unknown[]> =>
    objectsOf((await west.zone.read(`/meshes/${MESH}/meshzoneaddresses`))['items']).map(({ spec }) => objectOf(spec)['port']);
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const labels = workload('ingress');
  const blocked = await west.proxy('ingress-3', { labels, listeners: ingress(port), isBrought: true });
  // The one that comes later is published by the same leader.
  const free = await freePort();
  const other = await west.proxy('ingress-4', { labels, listeners: ingress(free), isBrought: true });
  await expect.poll(published).toContain(free);
  expect(await published()).not.toContain(port);
  taken.close();
  await blocked.stop();
  const again = await west.proxy('ingress-3', { labels, listeners: ingress(port), isBrought: true });
  await expect.poll(published).toContain(port);
  await Promise.all([again.stop(), other.stop()]);
  await expect.poll(published).toEqual([ports.two]);
});

/** Requests that go on while something is done. @returns how many had each answer: the status, with the words of one that failed */
async function during(port: number, work: () => Promise<void>): Promise<ReadonlyMap<string, number>> {
  const answers: string[] = [];
  let isDone = false;
  const ask = async (): Promise<void> => {
    while (!isDone) {
      const { status, body } = await east.get(port);
      answers.push(status === 200 ? '200' : `${String(status)} ${body}`);
      await delay(PACE_MS);
    }
  };
  const asking = Promise.all([ask(), ask()]);
  await work().finally(() => (isDone = true));
  await asking;
  return countBy(answers, String);
}

it('the own zone serves a service of all zones while identities come, and the other when it cannot: no request fails', async () => {
  const name = 'coming';
  const [global, eastZone, westZone] = planes;
  if (global === undefined || eastZone === undefined || westZone === undefined) throw new Error('three control planes');
  const put = async (path: string, type: string, of: string, spec: JsonObject): Promise<void> => {
    await global.send('PUT', `/meshes/${name}/${path}/${of}`, { type, mesh: name, name: of, spec });
  };
  await global.send('PUT', `/meshes/${name}`, { type: 'Mesh', name, skipCreatingInitialPolicies: ['*'] });
  await put('meshtrafficpermissions', 'MeshTrafficPermission', 'all', {
    rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${name}.east.mesh.local` } }] } }],
  });
  await put('meshmultizoneservices', 'MeshMultiZoneService', 'cart', {
    selector: { meshService: { matchLabels: { 'kuma.io/display-name': 'cart' } } },
    ports: [{ port: 80, name: 'main', appProtocol: 'http' }],
  });
  const [here, there] = await Promise.all([EnvoyMesh.join(name, eastZone), EnvoyMesh.join(name, westZone)]);
  meshes.push(here, there);
  const inbounds = await Promise.all(
    [here, there].map(async (mesh, at) => {
      const cart = `cart-${String(at)}`;
      await mesh.service('cart', { app: 'cart' });
      const { port: servicePort } = await mesh.application(cart, 'http');
      const inbound = [{ name: 'main', port: await freePort(), servicePort, protocol: 'http' }];
      await mesh.proxy(cart, { labels: workload('cart'), inbound });
      return inbound;
    }),
  );
  await there.proxy('ingress', { labels: workload('ingress'), listeners: ingress(await freePort()) });
  const port = await freePort();
  const backendRef = { kind: 'MeshMultiZoneService', labels: { 'kuma.io/display-name': 'cart' }, port: 80 };
  const caller = await here.proxy('caller', { labels: workload('caller'), outbounds: [{ port, backendRef }] });
  const answered = async (): Promise<string> => (await here.get(port)).body;
  await expect.poll(answered).toBe('cart-0');

  const answers = await during(port, async () => {
    await put('meshidentities', 'MeshIdentity', 'identity', {
      selector: { dataplane: { matchLabels: {} } },
      provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
    });
    const tls = async (): Promise<unknown> => objectOf((await here.read('MeshService', 'cart'))['status'])['tls'];
    await expect.poll(tls).toEqual({ status: 'Ready', enforced: true });
    // It calls the other zone with TLS alone: from here on that zone can stand in.
    await expect.poll(() => caller.admin('/clusters')).toMatch(/___cart_main::.*::priority::1\n/);
    const inbound = (inbounds[0] ?? []).map((one) => ({ ...one, state: 'NotReady' }));
    await here.put('Dataplane', 'cart-0', { labels: workload('cart'), networking: { address: '127.0.0.1', inbound } });
    await expect.poll(answered).toBe('cart-1');
  });
  expect([...answers.keys()]).toEqual(['200']);
});

// The last: global stays away.
it('zones go on while their control planes are killed and global stays away: no request fails, and new endpoints count', async () => {
  const ofCart = /"serial_number": "(\w+)"[^}]*?"subject_alt_names": \[\s*\{\s*"uri": "[^"]*workload\/cart"/s;
  const serial = async (): Promise<string> => ofCart.exec(await cart.admin('/certs'))?.[1] ?? '';
  for (const port of [ports.catalog, ports.outside]) await expect.poll(async () => (await east.get(port)).status).toBe(200);
  const before = await serial();
  expect(before).not.toBe('');
  const answers: string[] = [];
  let isOver = false;
  const ask = async (port: number): Promise<void> => {
    while (!isOver) {
      const { status, body } = await east.get(port);
      answers.push(status === 200 ? body : String(status));
      await delay(PACE_MS);
    }
  };
  const traffic = Promise.all([ports.catalog, ports.catalog, ports.outside].map(ask));
  await Promise.all(planes.map((plane) => plane.stop('SIGKILL')));
  const killed = answers.length;
  await expect.poll(() => answers.length).toBeGreaterThan(killed + 50);
  await Promise.all([east.zone.restart(), west.zone.restart()]);
  await expect.poll(async () => ['', before].includes(await serial())).toBe(false);
  const another = await west.application('catalog-2', 'http');
  const port = await freePort();
  await west.proxy('catalog-2', {
    labels: workload('catalog'),
    inbound: [{ name: 'main', port, servicePort: another.port, protocol: 'http' }],
  });
  // Connections that are open stay where they are.
  await expect.poll(() => second.admin('/clusters')).toContain(`127.0.0.1:${String(port)}::`);
  isOver = true;
  await traffic;
  expect(answers.filter((answer) => !/^(catalog|outside)/.test(answer))).toEqual([]);
});
