// What the answers of a write, a preview and `_reach` say about valid documents without effect.
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { addPolicyInspect } from '../../src/inspect/add-inspect-routes.ts';
import { WriteAdvice } from '../../src/inspect/write-advice.ts';
import { globalSendRules } from '../../src/kds/protocol/rules.ts';
import { MeshIndexes } from '../../src/mesh-index/mesh-indexes.ts';
import { idleProblems } from '../../src/problems/idle-problems.ts';
import { objectsOf } from '../../src/resource/read-json.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { testApi } from '../api/test-api.ts';
import { TinyStore } from '../support/tiny-store.ts';

const MESH = 'shop';
let store: TinyStore;
let app: FastifyInstance;
let stop: AbortController;
let indexes: MeshIndexes;

beforeEach(async () => {
  store = new TinyStore();
  stop = new AbortController();
  indexes = new MeshIndexes({ store, log: createLogger('silent'), clock: systemClock, signal: stop.signal });
  const advice = new WriteAdvice({ indexes, clock: systemClock });
  app = testApi(store, 'alone', {
    addRoutes: addPolicyInspect(globalSendRules(), indexes),
    adviceOn: (keys, asked) => advice.on(keys, asked),
  });
  await store.write({ op: 'create', key: { type: 'Mesh', mesh: '', name: MESH }, labels: {}, spec: {} });
  const inbound = [{ port: 8080, name: 'main', protocol: 'http' }];
  const outbound = [{ port: 7001, backendRef: { kind: 'MeshService', name: 'shelf', port: 80 } }];
  await put('dataplanes', { type: 'Dataplane', name: 'till', networking: { address: '192.0.2.1', inbound, outbound } });
  await service('shelf', 'http');
  await service('rack', 'http', 'http');
  await service('db', 'tcp');
});
afterEach(async () => {
  await app.close();
  stop.abort();
  await indexes.ended();
});

async function send(method: 'PUT' | 'POST' | 'GET', url: string, payload?: unknown): Promise<JsonObject> {
  const { body } = await app.inject({
    ...{ method, url, remoteAddress: '127.0.0.1' },
    ...(payload !== undefined && { headers: { 'content-type': 'application/json' }, payload: JSON.stringify(payload) }),
  });
  return JSON.parse(body) as JsonObject;
}
const put = (path: string, document: JsonObject): Promise<JsonObject> =>
  send('PUT', `/meshes/${MESH}/${path}/${String(document['name'])}`, { mesh: MESH, ...document });
const service = (name: string, ...protocols: string[]): Promise<JsonObject> =>
  put('meshservices', {
    ...{ type: 'MeshService', name },
    spec: { ports: protocols.map((appProtocol, at) => ({ port: 80 + at, targetPort: 8080, appProtocol })) },
  });
const route = (...backends: string[]): JsonObject => ({
  ...{ type: 'MeshHTTPRoute', mesh: MESH, name: 'stock' },
  spec: {
    to: [
      {
        targetRef: { kind: 'MeshService', name: 'shelf' },
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: '/' } }],
            default: { backendRefs: backends.map((name) => ({ kind: 'MeshService', name })) },
          },
        ],
      },
    ],
  },
});
const timeout = (name: string): JsonObject => ({
  ...{ type: 'MeshTimeout', mesh: MESH, name },
  spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { connectionTimeout: '3s' } }] },
});
const AT = 'spec.to[0].rules[0].default.backendRefs';
const OF_RACK = 'MeshService rack has 2 ports, so port must be one of 80, 81: its share of the requests is answered 500';
const OF_DB =
  'port 80 of MeshService db has the protocol tcp, and HTTP routes need http, http2 or grpc: its share of the requests is answered 500';
const OF_SLOW =
  'changes nothing on the proxy that it selects: stronger policies have each of its values: MeshTimeout first (of two that select the same, the name that is first in the alphabet is stronger)';
const warningsOf = ({ items }: JsonObject): unknown[] => objectsOf(items).map(({ warnings }) => warnings ?? []);

it('a route whose backends mean nothing is stored with a warning, and is a problem until it is corrected', async () => {
  const warnings = [`${AT}[0]: ${OF_RACK}`, `${AT}[2]: ${OF_DB}`];
  expect(await put('meshhttproutes', route('rack', 'shelf', 'db'))).toEqual({
    warnings: expect.arrayContaining(warnings) as unknown,
  });
  const [problem, ...others] = await idleProblems(store, systemClock);
  expect(others).toEqual([]);
  expect(problem).toMatchObject({ code: 'partsIdle', type: 'MeshHTTPRoute', mesh: MESH, resources: ['stock'], count: 2 });
  expect(problem?.message).toContain(`${AT}[0] ${OF_RACK}`);
  await service('rack', 'http');
  await put('meshhttproutes', route('rack', 'shelf'));
  expect(await idleProblems(store, systemClock)).toEqual([]);
});

it('an external service names its missing Secret in the answer, in the problems and on the way to it', async () => {
  const source = { type: 'Secret', secretRef: { kind: 'Secret', name: 'authority' } };
  const spec = {
    match: { type: 'HostnameGenerator', port: 443, protocol: 'http' },
    endpoints: [{ address: 'bank.example', port: 443 }],
    tls: { enabled: true, verification: { caCert: source } },
  };
  const bank = { type: 'MeshExternalService', name: 'bank', spec };
  const reason = 'names the Secret "authority", which does not exist: requests are answered 503';
  const field = 'spec.tls.verification.caCert.secretRef.name';
  expect(await put('meshexternalservices', bank)).toEqual({ warnings: [`${field}: ${reason}`] });
  expect((await idleProblems(store, systemClock)).map(({ message }) => message)).toEqual([
    `MeshExternalService bank of mesh ${MESH}: ${field} ${reason}`,
  ]);
  const { items } = await send('GET', `/meshes/${MESH}/meshexternalservices/bank/_ways`);
  expect(JSON.stringify(items)).toContain(JSON.stringify(`${field} ${reason}`));
  const key = { type: 'Secret', mesh: MESH, name: 'authority' };
  await store.write({ op: 'create', key, labels: {}, spec: { data: 'eA==' } });
  expect(await put('meshexternalservices', bank)).toEqual({});
  expect(await idleProblems(store, systemClock)).toEqual([]);
});

it('a policy that a stronger one overrides has a warning in the answers of apply, of a preview and of its reach', async () => {
  expect(warningsOf(await send('POST', '/_apply', [timeout('first')]))).toEqual([[]]);
  expect(warningsOf(await send('POST', '/_preview', [timeout('slow')]))).toEqual([[OF_SLOW]]);
  expect(warningsOf(await send('POST', '/_apply', [timeout('slow')]))).toEqual([[OF_SLOW]]);
  expect(await send('GET', `/meshes/${MESH}/meshtimeouts/slow/_reach`)).toMatchObject({ warnings: [OF_SLOW] });
  expect(await send('GET', `/meshes/${MESH}/meshtimeouts/first/_reach`)).toMatchObject({ warnings: [] });
});

const SHOP = 'spiffe://shop.east.mesh.local/workload';
const [ABORT, LOG] = [
  { httpStatus: 503, percentage: 100 },
  { type: 'File', file: { path: '/log' } },
];
const RATE = { num: 5, interval: '1s' };
/** A rule for the clients of a match. */
const forClients =
  (conf: JsonObject) =>
  (match: JsonObject): JsonObject => ({ matches: [match], default: conf });
it.each<[type: string, at: string, rule: (match: JsonObject) => JsonObject]>([
  ['MeshTrafficPermission', 'default.allow[0].spiffeID', (match) => ({ default: { allow: [match] } })],
  ['MeshTrafficPermission', 'default.deny[0].spiffeID', (match) => ({ default: { deny: [match] } })],
  [
    'MeshTrafficPermission',
    'default.allowWithShadowDeny[0].spiffeID',
    (match) => ({ default: { allowWithShadowDeny: [match] } }),
  ],
  ['MeshTrafficPermission', 'matches[0].spiffeID', forClients({ allow: [{ sni: { type: 'Exact', value: 'a.example' } }] })],
  ['MeshTimeout', 'matches[0].spiffeID', forClients({ http: { requestTimeout: '3s' } })],
  ['MeshRateLimit', 'matches[0].spiffeID', forClients({ local: { http: { requestRate: RATE } } })],
  ['MeshFaultInjection', 'matches[0].spiffeID', forClients({ http: [{ abort: ABORT }] })],
  [
    ...(['MeshAccessLog', 'matches[0].spiffeId'] as const),
    ({ spiffeID = null }) => forClients({ backends: [LOG] })({ spiffeId: spiffeID }),
  ],
])('a prefix of a %s that ends inside a segment is named, in %s, where it fits more clients', async (type, at, rule) => {
  for (const name of ['c', 'cl', 'cart'])
    await store.write({
      ...{ op: 'create', key: { type: 'MeshService', mesh: MESH, name }, labels: {} },
      spec: { ports: [{ port: 80 }], identities: [{ type: 'SpiffeID', value: `${SHOP}/${name}` }] },
    });
  const write = async (value: string): Promise<string[]> => {
    const spec = { targetRef: { kind: 'Dataplane' }, rules: [rule({ spiffeID: { type: 'Prefix', value } })] };
    const { warnings = [], ...others } = await put(`${type.toLowerCase()}s`, { type, name: 'callers', spec });
    expect(others).toEqual({});
    return warnings as string[];
  };
  const field = `spec.rules[0].${at}.value`;
  const reason = `ends inside a segment, and also fits ${SHOP}/cart, ${SHOP}/cl: name a client with type Exact, or end it with "/", which zones of Kuma leave off`;
  expect(await write(`${SHOP}/c`)).toContain(`${field}: ${reason}`);
  expect(await idleProblems(store, systemClock)).toMatchObject([
    { code: 'prefixesWide', type, message: `${type} callers of mesh ${MESH}: ${field} ${reason}` },
  ]);
  expect(await write('spiffe://shop.ea')).toContainEqual(
    expect.stringMatching(/ and 1 more: end it with "\/", which zones of Kuma leave off$/),
  );
  for (const value of [`${SHOP}/c/`, `${SHOP}/cart`, SHOP, 'spiffe://shop', 'spiffe://shop.east.mesh.local'])
    expect((await write(value)).join()).not.toContain('inside a segment');
  expect(await idleProblems(store, systemClock)).toEqual([]);
});

it('a proxy without a service is among the clients that a prefix fits too', async () => {
  const identity = { trustDomain: 'shop.east', path: '/app/{{ label "app" }}' };
  const spec = { selector: { dataplane: { matchLabels: {} } }, spiffeID: identity };
  await store.write({
    ...{ op: 'create', key: { type: 'MeshIdentity', mesh: MESH, name: 'own' }, labels: {}, spec },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const networking = { address: '192.0.2.9' };
  await put('dataplanes', { type: 'Dataplane', name: 'job', labels: { app: 'cl' }, networking });
  const match = { spiffeID: { type: 'Prefix', value: 'spiffe://shop.east/app/c' } };
  const permission = { type: 'MeshTrafficPermission', name: 'c', mesh: MESH, spec: { rules: [{ default: { allow: [match] } }] } };
  expect(JSON.stringify(await send('POST', '/_preview', [permission]))).toContain('also fits spiffe://shop.east/app/cl: ');
});
