// What MeshLoadBalancingStrategy does to requests that pass a real Envoy.
import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/resource/types.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { countBy, expectShares } from './shares.ts';

const NODES: Readonly<Record<string, string>> = { a: 'n1', b: 'n1', c: 'n2', d: 'n3' };
const EACH = Object.fromEntries(Object.keys(NODES).map((name) => [name, 1 / 4]));

let mesh: EnvoyMesh;
let client: Proxy;
let port: number;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('balancing');
  for (const [name, node] of Object.entries(NODES)) await mesh.endpoint(name, { app: 'cart', node });
  await mesh.service('cart', { app: 'cart' });
  const { list, portOf } = await mesh.outbounds(['cart']);
  port = portOf('cart');
  client = await mesh.proxy('client', { labels: { node: 'n1' }, outbounds: list });
});
afterAll(() => mesh.close());

/** Writes a strategy that goes with the test. */
async function strategy(conf: JsonObject, targetRef: JsonObject = { kind: 'MeshService', name: 'cart' }): Promise<void> {
  await mesh.policy('MeshLoadBalancingStrategy', 'strategy', { to: [{ targetRef, default: conf }] });
}

/** The endpoints that many requests reach. */
async function reached(count: number, path?: string, make?: (at: number) => object): Promise<ReadonlyMap<string, number>> {
  return countBy(await mesh.many(count, port, path, make), ({ body }) => body);
}

describe('a load balancer', () => {
  it.each([
    ['RoundRobin', {}],
    ['Random', {}],
    ['LeastRequest', { leastRequest: { choiceCount: 3, activeRequestBias: '1.3' } }],
    ['RingHash', { ringHash: { hashFunction: 'MurmurHash2', minRingSize: 64, maxRingSize: 1024 } }],
    ['Maglev', { maglev: { tableSize: 101 } }],
  ])('%s reaches every endpoint', async (type, conf) => {
    await strategy({ loadBalancer: { type, ...conf } });
    const dump = await client.admin('/config_dump?resource=dynamic_active_clusters&name_regex=.*cart_main');
    expect(/"lb_policy": "(\w+)"/.exec(dump)?.[1] ?? 'ROUND_ROBIN').toBe(snake(type));
    expect([...(await reached(200)).keys()].sort()).toEqual(Object.keys(NODES));
  });
});

const snake = (type: string): string => type.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase();

describe('a hash policy', () => {
  const RING = { loadBalancer: { type: 'RingHash' } };
  const USERS = Array.from({ length: 40 }, (_, at) => `user-${String(at)}`);

  /** Each user comes to one endpoint, and not all users to the same. */
  async function expectSticky(ask: (user: string) => Promise<string>): Promise<void> {
    const first = await Promise.all(USERS.map(ask));
    const again = await Promise.all(USERS.map(ask));
    expect(again).toEqual(first);
    expect(new Set(first).size).toBeGreaterThan(1);
  }
  const byHeader = async (user: string, path = '/'): Promise<string> =>
    (await mesh.get(port, path, { headers: { 'x-user': user } })).body;

  it.each(['RingHash', 'Maglev'])('sticks by header with %s', async (type) => {
    await strategy({ loadBalancer: { type }, hashPolicies: [{ type: 'Header', header: { name: 'x-user' } }] });
    await expect.poll(async () => new Set(await Promise.all(USERS.map(() => byHeader('me')))).size).toBe(1);
    await expectSticky(byHeader);
  });

  it('sticks by query parameter', async () => {
    await strategy({ ...RING, hashPolicies: [{ type: 'QueryParameter', queryParameter: { name: 'user' } }] });
    const ask = async (user: string): Promise<string> => (await mesh.get(port, `/?user=${user}`)).body;
    await expect.poll(async () => new Set(await Promise.all(USERS.map(() => ask('me')))).size).toBe(1);
    await expectSticky(ask);
  });

  it('sticks by a cookie, which it makes', async () => {
    await strategy({ ...RING, hashPolicies: [{ type: 'Cookie', cookie: { name: 'session', ttl: '1h', path: '/' } }] });
    const made = async (): Promise<string> => String((await mesh.get(port)).headers['set-cookie'] ?? '');
    await expect.poll(made).toMatch(/^session="?\w+"?; Max-Age=3600; Path=\/; HttpOnly/);
    await expectSticky(async (user) => (await mesh.get(port, '/', { headers: { cookie: `session=${user}` } })).body);
  });

  it('sticks by the address of the caller', async () => {
    await strategy({ ...RING, hashPolicies: [{ type: 'Connection', connection: { sourceIP: true } }] });
    const fromMany = async (): Promise<number> => (await reached(60)).size;
    await expect.poll(fromMany).toBe(1);
    await expectSticky(async (user) => {
      const agent = new Agent({ localAddress: `127.0.1.${String(1 + Number(user.slice(5)))}` });
      return (await mesh.get(port, '/', { agent })).body;
    });
  });

  it('holds for the requests of one route', async () => {
    const matches = [{ path: { type: 'PathPrefix', value: '/sticky' } }];
    const target = { kind: 'MeshService', name: 'cart' };
    await mesh.policy('MeshHTTPRoute', 'sticky', { to: [{ targetRef: target, rules: [{ matches, default: {} }] }] });
    const ofRoute = { targetRef: { kind: 'MeshHTTPRoute', name: 'sticky' } };
    const hashPolicies = [{ type: 'Header', header: { name: 'x-user' } }];
    await mesh.policy('MeshLoadBalancingStrategy', 'of-route', { to: [{ ...ofRoute, default: { hashPolicies } }] });
    await strategy(RING);
    await expect.poll(async () => new Set(await Promise.all(USERS.map(() => byHeader('me', '/sticky')))).size).toBe(1);
    await expectSticky(async (user) => await byHeader(user, '/sticky'));
    expect((await reached(100, '/other', () => ({ headers: { 'x-user': 'me' } }))).size).toBe(4);
  });
});

describe('affinity within a zone', () => {
  it('prefers endpoints with the label of the client', async () => {
    const affinityTags = [{ key: 'node', weight: 90 }];
    await strategy({ loadBalancer: { type: 'Random' }, localityAwareness: { localZone: { affinityTags } } });
    const near = async (): Promise<number> => {
      const counts = await reached(200);
      return (counts.get('a') ?? 0) + (counts.get('b') ?? 0);
    };
    await expect.poll(near).toBeGreaterThan(170);
  });

  it('is off where it says so', async () => {
    await strategy({ loadBalancer: { type: 'Random' }, localityAwareness: { disabled: true } });
    await expect.poll(async () => (await reached(40)).size).toBe(4);
    expectShares(await reached(400), EACH);
  });
});
