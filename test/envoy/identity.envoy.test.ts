// Workload identity of two proxies of one zone: it comes, is renewed and is demanded without a failed request.
import { connect, type ConnectionOptions } from 'node:tls';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthority, issueLeaf, readAuthority } from '../../src/identity/authority.ts';
import { objectOf, objectsOf, textOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import type { Application } from './application.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { countBy } from './shares.ts';
import { PACE_MS } from './steady-requests.ts';

const TRUST_DOMAIN = 'identity.east.mesh.local';
const CHECKOUT = `spiffe://${TRUST_DOMAIN}/workload/checkout`;
const OTHER = `spiffe://${TRUST_DOMAIN}/workload/other`;
const HOUR_MS = 3_600_000;
let mesh: EnvoyMesh;
let cart: Application;
let server: Proxy;
let inbound: number;
let outbound: number;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('identity');
  await mesh.service('cart', { app: 'cart' });
  cart = await mesh.application('cart', 'http');
  inbound = await freePort();
  server = await mesh.proxy('cart', {
    labels: { app: 'cart', 'kuma.io/workload': 'cart' },
    inbound: [{ name: 'main', port: inbound, servicePort: cart.port, protocol: 'http' }],
  });
  const { list, portOf } = await mesh.outbounds(['cart']);
  await mesh.proxy('checkout', { labels: { app: 'checkout', 'kuma.io/workload': 'checkout' }, outbounds: list });
  outbound = portOf('cart');
  await permit('all', { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${TRUST_DOMAIN}` } }] });
});
afterAll(() => mesh.close());

async function permit(name: string, conf: object): Promise<void> {
  await mesh.put('MeshTrafficPermission', name, { spec: { rules: [{ default: { ...conf } }] } });
}

async function identify(matchLabels: Record<string, string>): Promise<void> {
  await mesh.put('MeshIdentity', 'identity', {
    spec: {
      selector: { dataplane: { matchLabels } },
      provider: {
        type: 'Bundled',
        bundled: {
          autogenerate: { enabled: true }, // A busy machine has two seconds for a renewal.
          certificateParameters: { expiry: '10s' },
        },
      },
    },
  });
}

/** Requests that go on while something is done. @returns how many had each status, with the words of a failure */
async function during(work: () => Promise<void>): Promise<ReadonlyMap<string, number>> {
  const statuses: string[] = [];
  let isDone = false;
  const ask = async (): Promise<void> => {
    while (!isDone) {
      const { status, body } = await mesh.get(outbound);
      statuses.push(status === 200 ? '200' : `${String(status)} ${body}`);
      await delay(PACE_MS);
    }
  };
  const asking = Promise.all([ask(), ask()]);
  await work().finally(() => (isDone = true));
  await asking;
  return countBy(statuses, String);
}

const tls = async (): Promise<unknown> => objectOf((await mesh.read('MeshService', 'cart'))['status'])['tls'];
/** What the last request said about its client. */
const lastClient = (): string => String(cart.seen.at(-1)?.headers['x-forwarded-client-cert'] ?? '');
const serial = async (): Promise<string> =>
  /"serial_number": "(\w+)"[^}]*?"subject_alt_names": \[\s*\{\s*"uri": "[^"]*workload\/cart"/s.exec(
    await server.admin('/certs'),
  )?.[1] ?? '';

/** A certificate of the authority of the zone. */
async function certificateOf(spiffeId: string, lifetimeMs = HOUR_MS): Promise<ConnectionOptions> {
  const pem = async (name: string): Promise<string> =>
    Buffer.from(textOf((await mesh.read('Secret', name))['data']), 'base64').toString('utf8');
  const own = await readAuthority({ certPem: await pem('identity-root-ca'), keyPem: await pem('identity-private-key') });
  const { certPem: cert, keyPem: key } = await issueLeaf(own, spiffeId, { now: new Date(), lifetimeMs });
  return { cert, key };
}

/** The first bytes of the answer to a request with a certificate; `''` where the server ends the connection. */
async function ask(given: ConnectionOptions): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: inbound, rejectUnauthorized: false, ALPNProtocols: ['kuma'], ...given });
  try {
    await once(socket, 'secureConnect');
    socket.write('GET / HTTP/1.1\r\nhost: cart\r\nconnection: close\r\n\r\n');
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    return bytes.toString('latin1', 0, 12);
  } catch {
    return '';
  } finally {
    socket.destroy();
  }
}

describe('a MeshIdentity', () => {
  it('comes into force under traffic: no request fails, and the server knows the client', async () => {
    const statuses = await during(async () => {
      await identify({});
      await expect.poll(tls).toEqual({ status: 'Ready', enforced: true });
      await expect.poll(async () => (await mesh.get(inbound)).status).toBe(0);
      await expect.poll(lastClient).toContain(`URI=${CHECKOUT}`);
    });
    expect([...statuses.keys()]).toEqual(['200']);
  });

  it('renews certificates under traffic: no request fails', async () => {
    const first = await serial();
    expect(first).not.toBe('');
    const statuses = await during(() => expect.poll(serial).not.toBe(first));
    expect([...statuses.keys()]).toEqual(['200']);
  });
});

describe('a rotation of the authority', () => {
  it('changes who signs under traffic with ever new connections: no request fails', async () => {
    const short = { http: { maxConnectionDuration: '100ms' } };
    await mesh.policy('MeshTimeout', 'short', {
      to: [{ targetRef: { kind: 'MeshService', name: 'cart' }, default: short }],
    });
    const state = (): Promise<JsonObject> => mesh.ask('MeshIdentity', 'identity', '_rotation');
    const handshakes = (): Promise<number> => server.sum(/listener\..*\.ssl\.handshake$/);
    const failed = (): Promise<number> => server.sum(/listener\..*\.ssl\.(connection_error|fail_verify_.*)$/);
    const [first, before, errors] = [(await state())['authority'], await handshakes(), await failed()];
    const statuses = await during(async () => {
      await mesh.act('MeshIdentity', 'identity', '_rotate');
      await expect.poll(state).toMatchObject({ step: 'renew', waiting: 0 });
      await expect.poll(state).toMatchObject({ step: 'none' });
      // The bundle without the last authority is in use too.
      const count = await handshakes();
      await expect.poll(handshakes).toBeGreaterThan(count + 5);
    });
    expect([...statuses.keys()]).toEqual(['200']);
    expect((await state())['authority']).not.toBe(first);
    expect(await handshakes()).toBeGreaterThan(before + 20);
    expect(await failed()).toBe(errors);
  });
});

describe('a strict inbound', () => {
  it('refuses plain text, and counts it as connection_error', async () => {
    const counted = (): Promise<number> => server.sum(/^listener\..*\.ssl\.connection_error$/);
    const before = await counted();
    expect((await mesh.get(inbound)).status).toBe(0);
    await expect.poll(counted).toBeGreaterThan(before);
  });

  it('takes a certificate of the authority of the zone', async () => {
    expect(await ask(await certificateOf(OTHER))).toBe('HTTP/1.1 200');
  });

  const ofOther = async (domain: string, spiffeId: string): Promise<ConnectionOptions> => {
    const authority = await readAuthority(await createAuthority(domain, new Date()));
    const { certPem: cert, keyPem: key } = await issueLeaf(authority, spiffeId, { now: new Date(), lifetimeMs: HOUR_MS });
    return { cert, key };
  };

  it.each<[string, string, () => Promise<ConnectionOptions>]>([
    ['no certificate', 'fail_verify_no_cert', async () => Promise.resolve({})],
    [
      'a certificate of another trust domain',
      'fail_verify_error',
      async () => ofOther('other.example', 'spiffe://other.example/a'),
    ],
    [
      'a certificate of another authority of the same trust domain',
      'fail_verify_error',
      async () => ofOther(TRUST_DOMAIN, CHECKOUT),
    ],
    ['a certificate that has ended', 'fail_verify_error', async () => certificateOf(OTHER, -10_000)],
  ])('refuses %s, and counts it as %s', async (_, name, make) => {
    const counted = (): Promise<number> => server.sum(new RegExp(`^listener\\..*\\.ssl\\.${name}$`));
    const given = await make();
    const before = await counted();
    expect(await ask(given)).toBe('');
    await expect.poll(counted).toBe(before + 1);
  });
});

it('a changed MeshTrafficPermission holds for open connections and closes none', async () => {
  await expect.poll(async () => (await mesh.get(outbound)).status).toBe(200);
  const modified = (): Promise<number> => server.sum(/^listener_manager\.listener_(modified|in_place_updated)$/);
  const closed = (): Promise<number> => server.sum(/^http\..*\.downstream_cx_drain_close$/);
  const denied = (): Promise<number> => server.sum(/^http\..*\.rbac\.denied$/);
  const [before, refused] = [[await modified(), await closed()], await denied()];
  await permit('some', { deny: [{ spiffeID: { type: 'Exact', value: CHECKOUT } }] });
  await expect.poll(async () => (await mesh.get(outbound)).status).toBe(403);
  await mesh.delete('MeshTrafficPermission', 'some');
  await expect.poll(async () => (await mesh.get(outbound)).status).toBe(200);
  expect([await modified(), await closed()]).toEqual(before);
  expect(await denied()).toBeGreaterThan(refused);
});

it.each([
  ['its SPIFFE ID', { spiffeID: { type: 'Exact', value: OTHER } }],
  ['spiffeId, the other spelling of spiffeID', { spiffeId: { type: 'Exact', value: OTHER } }],
  ['an empty match', {}],
])('a MeshTrafficPermission denies a client by %s', async (_, match) => {
  const given = await certificateOf(OTHER);
  await permit('some', { deny: [match] });
  await expect.poll(() => ask(given)).toBe('HTTP/1.1 403');
  await mesh.delete('MeshTrafficPermission', 'some');
  await expect.poll(() => ask(given)).toBe('HTTP/1.1 200');
});

it('a MeshRateLimit for one client limits this client alone', async () => {
  const given = await certificateOf(OTHER);
  const http = { requestRate: { num: 1, interval: '1h' }, onRateLimit: { status: 423 } };
  const matches = [{ spiffeID: { type: 'Exact', value: OTHER } }];
  const rules = [{ matches, default: { local: { http } } }];
  await mesh.put('MeshRateLimit', 'of-other', { spec: { targetRef: { kind: 'Dataplane' }, rules } });
  await expect.poll(() => ask(given)).toBe('HTTP/1.1 423');
  expect(await Promise.all([1, 2, 3].map(async () => (await mesh.get(outbound)).status))).toEqual([200, 200, 200]);
  await mesh.delete('MeshRateLimit', 'of-other');
  await expect.poll(() => ask(given)).toBe('HTTP/1.1 200');
});

describe('an identity that goes', () => {
  beforeAll(async () => {
    // Connections of 100 ms: each step meets new ones.
    const short = { http: { maxConnectionDuration: '100ms' } };
    const to = [{ targetRef: { kind: 'MeshService', name: 'cart' }, default: short }];
    await mesh.put('MeshTimeout', 'short', { spec: { to } });
  });

  /** Without those that drain. */
  const activeListeners = async (): Promise<string> => {
    const dump = objectOf(JSON.parse(await server.admin('/config_dump?resource=dynamic_listeners')));
    const states = objectsOf(dump['configs']).map((listener) => objectOf(listener['active_state']));
    expect(states.length).toBeGreaterThan(0);
    return JSON.stringify(states);
  };
  const isPlain = async (): Promise<void> => {
    await expect.poll(tls).toEqual({ status: 'NotReady' });
    await expect.poll(lastClient).toBe('');
    await expect.poll(activeListeners).not.toContain('DownstreamTlsContext');
  };
  const isStrict = async (): Promise<void> => {
    await expect.poll(tls).toEqual({ status: 'Ready', enforced: true });
    await expect.poll(async () => (await mesh.get(inbound)).status).toBe(0);
    await expect.poll(lastClient).toContain(`URI=${CHECKOUT}`);
  };

  it('is taken from the server under traffic, and comes back: no request fails', async () => {
    const statuses = await during(async () => {
      await identify({ app: 'checkout' });
      await isPlain();
      await identify({});
      await isStrict();
    });
    expect([...statuses.keys()]).toEqual(['200']);
  });

  it('is deleted under traffic: no request fails, and its MeshTrust goes last', async () => {
    const statuses = await during(async () => {
      await mesh.delete('MeshIdentity', 'identity');
      await isPlain();
      await expect.poll(async () => mesh.read('MeshTrust', 'identity').then(Object.keys, () => null)).toBeNull();
    });
    expect([...statuses.keys()]).toEqual(['200']);
  });
});
