// Connections that stay open while policies change (docs/long-connections.md), and connections that are denied before a byte passes.
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { objectOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { EchoServer, GREETING, openStream, openTcp, type LongConnection } from './long-connections.ts';

const TRUST_DOMAIN = 'long.east.mesh.local';
const CLIENT = `spiffe://${TRUST_DOMAIN}/workload/client`;
const ofServer = { targetRef: { kind: 'Dataplane', labels: { app: 'server' } } };
const prefix = (value: string): JsonObject => ({ spiffeID: { type: 'Prefix', value } });
const exact = (value: string): JsonObject => ({ spiffeID: { type: 'Exact', value } });
let mesh: EnvoyMesh;
let client: Proxy;
let server: Proxy;
const servers: EchoServer[] = [];
const opened: LongConnection[] = [];
let tcp: number;
let rpc: number;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('long');
  servers.push(await EchoServer.tcp(), await EchoServer.http2());
  const [tcpPort = 0, rpcPort = 0] = servers.map(({ port }) => port);
  await mesh.service('db', { app: 'server' }, 'tcp', 80);
  await mesh.put('MeshService', 'db', {
    spec: {
      selector: { dataplaneLabels: { matchLabels: { app: 'server' } } },
      ports: [{ name: 'db', port: 80, targetPort: 'db', appProtocol: 'tcp' }],
    },
  });
  await mesh.put('MeshService', 'rpc', {
    spec: {
      selector: { dataplaneLabels: { matchLabels: { app: 'server' } } },
      ports: [{ name: 'rpc', port: 80, targetPort: 'rpc', appProtocol: 'grpc' }],
    },
  });
  server = await mesh.proxy('server', {
    labels: { app: 'server', 'kuma.io/workload': 'server' },
    inbound: [
      { name: 'db', port: await freePort(), servicePort: tcpPort, protocol: 'tcp' },
      { name: 'rpc', port: await freePort(), servicePort: rpcPort, protocol: 'grpc' },
    ],
    drainSeconds: 1,
  });
  const { list, portOf } = await mesh.outbounds(['db', 'rpc']);
  client = await mesh.proxy('client', {
    labels: { app: 'client', 'kuma.io/workload': 'client' },
    outbounds: list,
    drainSeconds: 1,
  });
  [tcp, rpc] = [portOf('db'), portOf('rpc')];
  await permit({ allow: [prefix(`spiffe://${TRUST_DOMAIN}`)] });
  const provider = { type: 'Bundled', bundled: { autogenerate: { enabled: true } } };
  await mesh.put('MeshIdentity', 'identity', { spec: { selector: { dataplane: { matchLabels: {} } }, provider } });
  for (const service of ['db', 'rpc'])
    await vi.waitFor(async () => {
      const { tls } = objectOf((await mesh.read('MeshService', service))['status']);
      expect(tls).toEqual({ status: 'Ready', enforced: true });
    });
  await mesh.settle();
});
afterEach(() => {
  for (const connection of opened.splice(0)) connection.close();
});
afterAll(async () => {
  await mesh.close();
  for (const one of servers) one.close();
});

async function permit(conf: JsonObject): Promise<void> {
  await mesh.put('MeshTrafficPermission', 'all', { spec: { rules: [{ default: conf }] } });
}

/** Writes a policy that goes with the test, also where the test has removed it. */
async function edit(type: string, spec: JsonObject): Promise<void> {
  await mesh.put(type, 'edit', { spec });
  onTestFinished(async () => {
    await mesh.delete(type, 'edit').catch(() => undefined);
    await mesh.settle();
    await drained();
  });
}

function open(make: (port: number) => LongConnection, port: number): LongConnection {
  const connection = make(port);
  opened.push(connection);
  return connection;
}

async function answers(connection: LongConnection, words: string): Promise<void> {
  connection.say(words);
  await expect.poll(() => connection.heard()).toContain(words);
}

/** What replaced chains had, has ended. */
async function drained(): Promise<void> {
  for (const proxy of [client, server])
    await expect
      .poll(() => proxy.sum(/^listener_manager\.(total_filter_chains_draining|total_listeners_draining)$/), { timeout: 30_000 })
      .toBe(0);
}

describe('a client of a server that speaks first', () => {
  it('that is permitted hears it at once, before it says anything', async () => {
    const connection = open(openTcp, tcp);
    await expect.poll(() => connection.heard()).toBe(GREETING);
    await answers(connection, 'one');
  });

  it.each<[string, JsonObject]>([
    ['no permission', { allow: [exact(`${CLIENT}-other`)] }],
    ['a permission, and a denial by its SPIFFE ID', { allow: [prefix(`spiffe://${TRUST_DOMAIN}`)], deny: [exact(CLIENT)] }],
    ['a permission, and a denial of all', { allow: [prefix(`spiffe://${TRUST_DOMAIN}`)], deny: [{}] }],
  ])('with %s hears nothing, and its connection ends', async (_, conf) => {
    const all = { allow: [prefix(`spiffe://${TRUST_DOMAIN}`)] };
    await permit(conf);
    await mesh.settle();
    await drained();
    const connection = open(openTcp, tcp);
    await expect.poll(() => connection.hasEnded()).toBe(true);
    expect(connection.heard()).toBe('');
    await permit(all);
    await mesh.settle();
    await drained();
    const next = open(openTcp, tcp);
    await expect.poll(() => next.heard()).toBe(GREETING);
  });
});

describe('a stream and a connection stay open', () => {
  const fault = { http: [{ abort: { httpStatus: 418, percentage: 100 } }, { delay: { value: '1ms', percentage: 100 } }] };
  const oneFault = { http: fault.http.slice(0, 1) };
  const requestRate = { local: { http: { requestRate: { num: 1, interval: '1h' } } } };
  const connectionRate = { local: { tcp: { connectionRate: { num: 1000, interval: '1h' } } } };
  const times = { http: { requestTimeout: '1h', streamIdleTimeout: '1h' } };
  const byName = { sni: { type: 'Exact', value: 'sni.msvc.long.east.rpc.rpc' } };
  const log = { backends: [{ type: 'File', file: { path: '/dev/null' } }] };
  const tcpServer = { targetRef: { kind: 'Dataplane', labels: { app: 'server' }, sectionName: 'db' } };
  const inbound = (conf: JsonObject, ...matches: JsonObject[]): JsonObject => ({
    ...ofServer,
    rules: [{ ...(matches.length > 0 && { matches }), default: conf }],
  });
  const towards = (name: string, conf: JsonObject): JsonObject => ({
    to: [{ targetRef: { kind: 'MeshService', name }, default: conf }],
  });
  const backendRefs = [{ kind: 'MeshService', name: 'db', port: 80, weight: 1 }];
  const tcpRoute = { to: [{ targetRef: { kind: 'MeshService', name: 'db' }, rules: [{ default: { backendRefs } }] }] };

  it.each<[type: string, what: string, spec: JsonObject]>([
    ['MeshFaultInjection', 'for all', inbound(fault)],
    ['MeshFaultInjection', 'for one client', inbound(fault, exact(CLIENT))],
    ['MeshFaultInjection', 'for one server name', inbound(oneFault, byName)],
    ['MeshRateLimit', 'of requests', inbound(requestRate)],
    ['MeshRateLimit', 'of requests of one client', inbound(requestRate, exact(CLIENT))],
    ['MeshRateLimit', 'of connections', inbound(connectionRate)],
    ['MeshTimeout', 'of one client', inbound(times, exact(CLIENT))],
    ['MeshTimeout', 'of routes', inbound(times)],
    ['MeshTimeout', 'of idle connections', inbound({ idleTimeout: '1h' })],
    ['MeshTimeout', 'of connecting', inbound({ connectionTimeout: '7s' })],
    ['MeshCircuitBreaker', 'of an inbound', inbound({ connectionLimits: { maxConnections: 100 } })],
    ['MeshAccessLog', 'of TCP', { ...tcpServer, rules: [{ default: log }] }],
    ['MeshTimeout', 'towards TCP', towards('db', { idleTimeout: '1h', connectionTimeout: '7s' })],
    ['MeshTimeout', 'towards gRPC', towards('rpc', { ...times, connectionTimeout: '7s' })],
    ['MeshRetry', 'towards TCP', towards('db', { tcp: { maxConnectAttempt: 3 } })],
    ['MeshAccessLog', 'towards TCP', towards('db', log)],
    ['MeshTCPRoute', 'of the service', tcpRoute],
    [
      'MeshCircuitBreaker',
      'towards both',
      { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionLimits: { maxRetries: 9 } } }] },
    ],
  ])('while a %s %s comes and goes', async (type, _, spec) => {
    const connections = [open(openTcp, tcp), open(openStream, rpc)];
    for (const connection of connections) await answers(connection, 'before');
    await edit(type, spec);
    await mesh.settle();
    await drained();
    for (const connection of connections) await answers(connection, 'while');
    await mesh.delete(type, 'edit');
    await mesh.settle();
    await drained();
    for (const connection of connections) await answers(connection, 'after');
  });
});

it('a stream and a connection stay open while labels of their server change', async () => {
  const connections = [open(openTcp, tcp), open(openStream, rpc)];
  for (const connection of connections) await answers(connection, 'before');
  const { networking } = await mesh.read('Dataplane', 'server');
  const labels = { app: 'server', 'kuma.io/workload': 'server', version: '2' };
  await mesh.put('Dataplane', 'server', { labels, networking: objectOf(networking) });
  await mesh.settle();
  await drained();
  for (const connection of connections) await answers(connection, 'after');
});

describe('what Envoy cannot change in place ends with its drain time', () => {
  const log = { backends: [{ type: 'File', file: { path: '/dev/null' } }] };
  const allowed = { allow: [exact(`${CLIENT}-other`)] };
  const three = [1, 2, 3].map((percentage) => ({ delay: { value: '1ms', percentage } }));

  it.each<[type: string, what: string, conf: JsonObject, ends: 'tcp' | 'stream']>([
    ['MeshAccessLog', 'of HTTP', log, 'stream'],
    ['MeshTimeout', 'requestHeadersTimeout', { http: { requestHeadersTimeout: '1h', requestTimeout: '15s' } }, 'stream'],
    ['MeshFaultInjection', 'of three faults', { http: three }, 'stream'],
    ['MeshTrafficPermission', 'of TCP', allowed, 'tcp'],
  ])('with a %s %s, and the rest stays open', async (type, _, conf, ends) => {
    const connections = { tcp: open(openTcp, tcp), stream: open(openStream, rpc) };
    for (const connection of Object.values(connections)) await answers(connection, 'before');
    await edit(type, { ...ofServer, rules: [{ default: conf }] });
    await expect.poll(() => connections[ends].hasEnded(), { timeout: 30_000 }).toBe(true);
    await drained();
    await answers(connections[ends === 'tcp' ? 'stream' : 'tcp'], 'after');
  });
});
