// The REST API over a real store: bodies, statuses, labels, and bad input that names its field and changes nothing.
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createApi } from '../../src/api/create-api.ts';
import { createLogger } from '../../src/base/log.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import type { ResourceStore } from '../../src/store/resource-store.ts';
import { openEmbeddedStore } from '../support/embedded-store.ts';

const log = createLogger('silent');
const targetRef = { kind: 'Mesh' };
const NAMESPACE = { 'k8s.kuma.io/namespace': 'a' };

let store: ResourceStore;
let global: FastifyInstance;
let zone: FastifyInstance;

beforeAll(async () => {
  store = await openEmbeddedStore();
  const common = {
    store,
    product: 'Meridian',
    productVersion: '0-preview',
    instanceId: 'i',
    clusterId: async () => 'c',
    readOnly: false,
    config: {},
    clock: systemClock,
    log,
  };
  const meshDefaults = async (): Promise<[]> => [];
  const proxyAdmin = async (): Promise<Uint8Array> => new Uint8Array();
  global = createApi({
    ...common,
    mode: 'global',
    zone: null,
    federated: false,
    metrics: new Registry(),
    meshDefaults,
    proxyAdmin,
  });
  zone = createApi({ ...common, mode: 'zone', zone: 'east', federated: true, metrics: new Registry(), meshDefaults, proxyAdmin });
  expect((await put(global, '/meshes/default', { type: 'Mesh', name: 'default' })).statusCode).toBe(201);
}, 120_000);

afterAll(async () => {
  await Promise.all([global.close(), zone.close()]);
  await store.close();
});

type Answer = Awaited<ReturnType<FastifyInstance['inject']>>;

async function put(app: FastifyInstance, url: string, body: unknown): Promise<Answer> {
  const payload = typeof body === 'string' ? body : JSON.stringify(body);
  return await app.inject({ method: 'PUT', url, payload, headers: { 'content-type': 'application/json' } });
}

function timeout(name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const to = [{ targetRef, default: { connectionTimeout: '1s' } }];
  return { type: 'MeshTimeout', mesh: 'default', name, spec: { targetRef, to }, ...more };
}

describe('a resource', () => {
  it('is created, updated, read, listed and deleted', async () => {
    const url = '/meshes/default/meshtimeouts/crud';
    expect((await put(global, url, timeout('crud', { labels: { team: 'a' } }))).statusCode).toBe(201);
    expect((await put(global, url, timeout('crud', { labels: { team: 'b' } }))).statusCode).toBe(200);
    const got = await global.inject(url);
    expect(got.json()).toMatchObject({
      type: 'MeshTimeout',
      mesh: 'default',
      name: 'crud',
      labels: { 'kuma.io/display-name': 'crud', 'kuma.io/mesh': 'default', 'kuma.io/origin': 'global', team: 'b' },
      kri: 'kri_mt_default___crud_',
    });
    expect(got.body.startsWith('{\n "type"')).toBe(true);
    const list = await global.inject('/meshtimeouts?filter[labels.team]=b&size=1');
    expect(list.json()).toMatchObject({ total: 1, next: null, items: [{ name: 'crud' }] });
    expect((await global.inject({ method: 'DELETE', url })).statusCode).toBe(200);
    expect((await global.inject(url)).json()).toMatchObject({
      type: '/std-errors',
      status: 404,
      title: 'Could not retrieve a resource',
    });
  });

  it('of a protobuf type has a flat and canonical form', async () => {
    const body = {
      type: 'Dataplane',
      mesh: 'default',
      name: 'dp',
      networking: { address: '10.0.0.1', inbound: [{ port: '8080', state: 'Ready' }] },
    };
    expect((await put(zone, '/meshes/default/dataplanes/dp', body)).statusCode).toBe(201);
    const got = (await zone.inject('/meshes/default/dataplanes/dp')).json<Record<string, unknown>>();
    expect(got['networking']).toEqual({ address: '10.0.0.1', inbound: [{ port: 8080 }] });
    expect(got['labels']).toMatchObject({ 'kuma.io/zone': 'east', 'kuma.io/env': 'universal', 'kuma.io/origin': 'zone' });
    expect((await global.inject({ method: 'DELETE', url: '/meshes/default' })).statusCode).toBe(400);
  });

  it.each([
    ['cp.example', 'http://cp.example/'],
    ['[::1]:5681', 'http://[::1]:5681/'],
    ['cp_1:80', 'http://cp_1:80/'],
    ['evil"><script>', 'http://localhost/'],
    ['a b', 'http://localhost/'],
    ['user@cp.example', 'http://localhost/'],
    ['cp.example/x?', 'http://localhost/'],
    ['cp:123456', 'http://localhost/'],
  ])('that follows %s on a page is at %s', async (host, expected) => {
    for (const name of ['n1', 'n2']) await put(global, `/zones/${name}`, { type: 'Zone', name });
    const page = await global.inject({ url: '/zones?size=1', headers: { host } });
    expect(page.json()).toMatchObject({ next: `${expected}zones?offset=1&size=1` });
  });

  it('is deleted from a missing mesh with 404 and no advice to create the mesh', async () => {
    const answer = await global.inject({ method: 'DELETE', url: '/meshes/none/meshtimeouts/t' });
    expect([answer.statusCode, answer.json<{ title: string }>().title]).toEqual([404, 'Failed to retrieve Mesh']);
    expect(answer.body).not.toContain('create it');
  });

  it.each([
    '/mesh-insights',
    '/zones/_overview',
    '/dataplanes/_overview',
    '/meshes/default/dataplanes+insights',
    '/global-insight',
  ])('cannot be watched when it is computed: %s', async (url) => {
    const answer = await global.inject(`${url}?watch=true`);
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { invalid_parameters: [{ field: 'watch' }] }]);
    expect((await global.inject(`${url}?watch=false`)).statusCode).toBe(200);
  });

  it('of global scope keeps its name with any namespace in a label or an object', async () => {
    const mesh = { type: 'Mesh', name: 'wide', labels: NAMESPACE };
    expect((await put(global, '/meshes/wide', mesh)).statusCode).toBe(201);
    const zoned = { apiVersion: 'kuma.io/v1alpha1', kind: 'Zone', metadata: { name: 'wide', namespace: 'a' }, spec: {} };
    const applied = await global.inject({ method: 'POST', url: '/_apply', payload: [zoned] });
    expect(applied.json()).toMatchObject({ items: [{ type: 'Zone', name: 'wide', result: 'created' }] });
    expect((await global.inject('/zones/wide')).json<{ labels: object }>().labels).not.toHaveProperty('k8s.kuma.io/namespace');
    expect((await global.inject('/meshes/wide?format=k8s')).json()).toMatchObject({ metadata: { name: 'wide' } });
    for (const url of ['/meshes/wide', '/zones/wide'])
      expect((await global.inject({ method: 'DELETE', url })).statusCode).toBe(200);
  });

  it('pages with an absolute next', async () => {
    const spec = { to: [{ targetRef, default: { tcp: { maxConnectAttempt: 5 } } }] };
    for (const name of ['p1', 'p2', 'p3'])
      await put(global, `/meshes/default/meshretries/${name}`, timeout(name, { type: 'MeshRetry', spec }));
    const page = await global.inject({ url: '/meshes/default/meshretries?size=2', headers: { host: 'cp.example:5681' } });
    expect(page.json()).toMatchObject({ total: 3, next: 'http://cp.example:5681/meshes/default/meshretries?offset=2&size=2' });
  });
});

describe('bad input gets a 4xx that names the field and changes nothing', () => {
  const url = '/meshes/default/meshtimeouts/bad';
  const cases: [what: string, url: string, body: unknown, status: number, field: string | null][] = [
    ['malformed JSON', url, '{"type":', 400, null],
    ['a list for a body', url, [], 400, null],
    ['another type', url, { ...timeout('bad'), type: 'MeshRetry' }, 400, 'type'],
    ['another name', url, timeout('other'), 400, 'name'],
    ['another mesh', url, timeout('bad', { mesh: 'x' }), 400, 'mesh'],
    ['a mesh that is not there', '/meshes/none/meshtimeouts/bad', timeout('bad', { mesh: 'none' }), 404, null],
    ['no spec', url, { type: 'MeshTimeout', mesh: 'default', name: 'bad' }, 400, 'spec'],
    ['a name over the limit', `/meshes/default/meshtimeouts/${'a'.repeat(254)}`, timeout('a'.repeat(254)), 400, 'name'],
    ['a name in capitals', '/meshes/default/meshtimeouts/BAD', timeout('BAD'), 400, 'name'],
    ['a label over the limit', url, timeout('bad', { labels: { k: 'v'.repeat(64) } }), 400, 'labels["k"]'],
    ['a label that is no string', url, timeout('bad', { labels: { k: 1 } }), 400, 'labels["k"]'],
    [
      'a Mesh whose namespace would lengthen its name',
      '/meshes/M.a',
      { type: 'Mesh', name: 'M.a', labels: NAMESPACE },
      400,
      'name',
    ],
    ['a Mesh with a dot and a namespace', '/meshes/m.a', { type: 'Mesh', name: 'm.a', labels: NAMESPACE }, 400, 'name'],
    ['a Zone with a dot and a namespace', '/zones/z.a', { type: 'Zone', name: 'z.a', labels: NAMESPACE }, 400, 'name'],
    ['a foreign origin', url, timeout('bad', { labels: { 'kuma.io/origin': 'zone' } }), 400, 'labels["kuma.io/origin"]'],
    ['a targetRef without a kind', url, timeout('bad', { spec: { targetRef: {} } }), 400, 'spec.targetRef.kind'],
    [
      'nesting without end',
      url,
      timeout('bad', { spec: JSON.parse(`${'{"a":'.repeat(80)}1${'}'.repeat(80)}`) as unknown }),
      400,
      null,
    ],
    ['two megabytes', url, timeout('bad', { spec: { a: 'x'.repeat(2_000_000) } }), 413, null],
    [
      'a Dataplane on global',
      '/meshes/default/dataplanes/bad',
      { type: 'Dataplane', mesh: 'default', name: 'bad', networking: { address: '10.0.0.1' } },
      405,
      null,
    ],
  ];
  it.each(cases)('%s', async (_what, at, body, status, field) => {
    const answer = await put(global, at, body);
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ type: '/std-errors', status });
    if (field !== null)
      expect(
        answer.json<{ invalid_parameters: { field: string }[] }>().invalid_parameters.map((violation) => violation.field),
      ).toContain(field);
    expect((await store.list({ type: 'MeshTimeout' })).filter(({ name }) => name !== 'crud')).toEqual([]);
  });

  it('a zone label of another zone', async () => {
    const answer = await put(zone, url, timeout('bad', { labels: { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'west' } }));
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ invalid_parameters: [{ field: 'labels["kuma.io/zone"]' }] });
  });

  it('an incomplete zoneIngress, ports as words, duplicate names', async () => {
    const networking = {
      address: '10.0.0.1',
      inbound: [{ port: 1, name: 'x' }],
      zoneIngress: { address: '0.0.0.0', port: 10001, name: 'x' },
    };
    const answer = await put(zone, '/meshes/default/dataplanes/half', {
      type: 'Dataplane',
      mesh: 'default',
      name: 'half',
      networking,
    });
    const fields = answer.json<{ invalid_parameters: { field: string }[] }>().invalid_parameters.map(({ field }) => field);
    expect(fields).toEqual(
      expect.arrayContaining([
        'networking.zoneIngress.address',
        'networking.zoneIngress.advertisedAddress',
        'networking.zoneIngress.advertisedPort',
        'networking.zoneIngress.name',
      ]),
    );
    const words = await put(zone, '/meshes/default/dataplanes/words', {
      type: 'Dataplane',
      mesh: 'default',
      name: 'words',
      networking: { address: '10.0.0.1', inbound: [{ port: 'http' }] },
    });
    expect(words.json()).toMatchObject({ status: 400, invalid_parameters: [{ field: 'networking.inbound[0].port' }] });
  });

  it('a copy of a zone written or deleted on global', async () => {
    const name = hashName({ mesh: 'default', name: 'copy', zone: 'east' });
    const key = { type: 'MeshTimeout', mesh: 'default', name };
    await store.write({
      op: 'create',
      key,
      labels: { 'kuma.io/origin': 'zone', 'kuma.io/zone': 'east', 'kuma.io/display-name': 'copy' },
      spec: {},
      syncVersion: 'v',
    });
    expect((await put(global, `/meshes/default/meshtimeouts/${name}`, timeout(name))).statusCode).toBe(400);
    expect((await global.inject({ method: 'DELETE', url: `/meshes/default/meshtimeouts/${name}` })).statusCode).toBe(400);
    expect(await store.get(key)).toMatchObject({ version: 0, syncVersion: 'v' });
    await store.write({ op: 'delete', key });
  });

  it('a missing origin on a zone that has a global', async () => {
    const answer = await put(zone, '/meshes/default/meshtimeouts/bad', timeout('bad'));
    expect(answer.json()).toMatchObject({ status: 400, invalid_parameters: [{ field: 'labels["kuma.io/origin"]' }] });
  });

  it('unknown paths, verbs and queries', async () => {
    expect((await global.inject('/nothings')).statusCode).toBe(404);
    const verb = await global.inject({ method: 'POST', url: '/meshes/default' });
    expect([verb.statusCode, verb.headers['allow']]).toEqual([405, 'GET, PUT, DELETE']);
    expect(
      (await global.inject({ method: 'PUT', url: '/meshes/x', payload: 'type: Mesh', headers: { 'content-type': 'text/yaml' } }))
        .statusCode,
    ).toBe(415);
    for (const query of ['size=0', 'size=1001', 'offset=-1', 'filter[x]=1'])
      expect((await global.inject(`/meshes?${query}`)).statusCode).toBe(400);
  });
});
