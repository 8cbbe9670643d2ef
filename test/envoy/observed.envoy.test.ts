// What MeshAccessLog, MeshTrace, MeshMetric and MeshProxyPatch show of requests that pass a real Envoy.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/free-port.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { Collector } from './collector.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';

/** What spans and log records say of the proxy. */
const PLACE = { 'kuma.mesh': 'observed', 'kuma.zone': 'east', 'kuma.workload': 'kri_wl_observed_east__shop-client_' };
const CLIENT = { kind: 'Dataplane', labels: { app: 'client' } };

let mesh: EnvoyMesh;
let client: Proxy;
let cart: number;
let db: number;
let inbound: number;

beforeAll(async () => {
  mesh = await EnvoyMesh.open('observed');
  await mesh.endpoint('cart-1', { app: 'cart' });
  await mesh.endpoint('db-1', { app: 'db' }, 'tcp');
  const { port: servicePort } = await mesh.application('self', 'http');
  await mesh.service('cart', { app: 'cart' });
  await mesh.service('db', { app: 'db' }, 'tcp');
  const { list, portOf } = await mesh.outbounds(['cart', 'db']);
  [cart, db, inbound] = [portOf('cart'), portOf('db'), await freePort()];
  client = await mesh.proxy('client', {
    labels: { app: 'client', 'kuma.io/workload': 'shop-client' },
    inbound: [{ name: 'web', port: inbound, servicePort, protocol: 'http' }],
    outbounds: list,
  });
});
afterAll(() => mesh.close());

/** The lines of a log that Envoy writes; it writes them a little later. */
async function lines(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}
const toService = (name: string, conf: JsonObject): JsonObject => ({
  targetRef: CLIENT,
  to: [{ targetRef: { kind: 'MeshService', name }, default: conf }],
});

describe('a MeshAccessLog', () => {
  const json = [
    { key: 'path', value: '%REQ(:PATH)%' },
    { key: 'code', value: '%RESPONSE_CODE%' },
    { key: 'mesh', value: '%KUMA_MESH%' },
    { key: 'zone', value: '%KUMA_ZONE%' },
    { key: 'from', value: '%KUMA_SOURCE_SERVICE%' },
    { key: 'to', value: '%KUMA_DESTINATION_SERVICE%' },
    { key: 'direction', value: '%KUMA_TRAFFIC_DIRECTION%' },
  ];
  const fileBackend = (path: string, format: JsonObject): JsonObject => ({ type: 'File', file: { path, format } });

  it('writes a line for each request, with the fields that it names', async () => {
    const path = join(client.folder, 'json.log');
    await mesh.policy('MeshAccessLog', 'json', toService('cart', { backends: [fileBackend(path, { type: 'Json', json })] }));
    await mesh.get(cart, '/logged');
    await expect.poll(() => lines(path)).toHaveLength(1);
    const [line = ''] = await lines(path);
    expect(JSON.parse(line)).toEqual({
      ...{ path: '/logged', code: 200, mesh: 'observed', zone: 'east', direction: 'OUTBOUND' },
      ...{ from: 'shop-client', to: 'cart' },
    });
  });

  it('writes a line for each connection, and for what comes in', async () => {
    const [tcp, incoming] = [join(client.folder, 'tcp.log'), join(client.folder, 'in.log')];
    const plain = { type: 'Plain', plain: 'mesh=%KUMA_MESH% sent=%BYTES_SENT%' };
    await mesh.policy('MeshAccessLog', 'tcp', toService('db', { backends: [fileBackend(tcp, plain)] }));
    await mesh.policy('MeshAccessLog', 'in', {
      targetRef: CLIENT,
      rules: [
        { default: { backends: [fileBackend(incoming, { type: 'Plain', plain: '%REQ(:PATH)% %KUMA_TRAFFIC_DIRECTION%' })] } },
      ],
    });
    expect(await mesh.say(db)).toBe('db-1');
    await mesh.get(inbound, '/in');
    await expect.poll(() => lines(tcp)).toEqual(['mesh=observed sent=4']);
    await expect.poll(() => lines(incoming)).toEqual(['/in INBOUND']);
  });

  it('of a route writes its requests, and that of the service the others', async () => {
    const [ofRoute, ofService] = [join(client.folder, 'route.log'), join(client.folder, 'service.log')];
    const plain = { type: 'Plain', plain: '%REQ(:PATH)%' };
    const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/items' } }], default: {} }];
    await mesh.policy('MeshHTTPRoute', 'items', { to: [{ targetRef: { kind: 'MeshService', name: 'cart' }, rules }] });
    const target = { kind: 'MeshHTTPRoute', name: 'items' };
    const to = [{ targetRef: target, default: { backends: [fileBackend(ofRoute, plain)] } }];
    await mesh.policy('MeshAccessLog', 'route', { to });
    await mesh.policy('MeshAccessLog', 'service', toService('cart', { backends: [fileBackend(ofService, plain)] }));
    for (const path of ['/items/1', '/others']) await mesh.get(cart, path);
    await expect.poll(() => lines(ofRoute)).toEqual(['/items/1']);
    await expect.poll(() => lines(ofService)).toEqual(['/others']);
  });
});

describe('a MeshTrace', () => {
  it('sends spans of requests to its collector', async () => {
    const collector = await mesh.application('collector', 'http');
    const url = `http://127.0.0.1:${String(collector.port)}/api/v2/spans`;
    await mesh.policy('MeshTrace', 'zipkin', { targetRef: CLIENT, default: { backends: [{ type: 'Zipkin', zipkin: { url } }] } });
    await mesh.get(cart, '/traced');
    await expect.poll(() => collector.seen[0]).toMatchObject({ method: 'POST', path: '/api/v2/spans' });
  });
});

describe('an OpenTelemetry collector', () => {
  it('gets the spans of a MeshTrace and the records of a MeshAccessLog', async () => {
    const collector = await Collector.listen();
    onTestFinished(() => collector.close());
    await mesh.put('MeshOpenTelemetryBackend', 'otel', { spec: { endpoint: { address: '127.0.0.1', port: collector.port } } });
    const backendRef = { kind: 'MeshOpenTelemetryBackend', labels: { 'kuma.io/display-name': 'otel' } };
    const backend = { type: 'OpenTelemetry', openTelemetry: { backendRef } };
    const tags = [{ name: 'by', literal: 'policy' }];
    await mesh.policy('MeshTrace', 'otel', { targetRef: CLIENT, default: { backends: [backend], tags } });
    const logged = { backendRef, body: '%REQ(:PATH)%', attributes: [{ key: 'to', value: '%KUMA_DESTINATION_SERVICE%' }] };
    const logBackend = { type: 'OpenTelemetry', openTelemetry: logged };
    await mesh.policy('MeshAccessLog', 'otel', toService('cart', { backends: [logBackend] }));
    await mesh.many(10, cart, '/observed');
    await expect
      .poll(() => collector.records.find(({ body }) => body === '/observed'))
      .toMatchObject({
        resource: PLACE,
        attributes: { to: 'cart' },
      });
    const spans = (): unknown => collector.spans.find(({ attributes }) => attributes['http.url']?.endsWith('/observed') === true);
    await expect.poll(spans).toMatchObject({
      resource: { 'service.name': 'shop-client' },
      attributes: { by: 'policy', 'http.status_code': '200', ...PLACE },
    });
  });

  it('gets spans by HTTP, below the path of its MeshOpenTelemetryBackend', async () => {
    const collector = await mesh.application('otel-http', 'http');
    const endpoint = { address: '127.0.0.1', port: collector.port, path: '/otlp' };
    await mesh.put('MeshOpenTelemetryBackend', 'otel-http', { spec: { protocol: 'http', endpoint } });
    const backendRef = { kind: 'MeshOpenTelemetryBackend', labels: { 'kuma.io/display-name': 'otel-http' } };
    const backend = { type: 'OpenTelemetry', openTelemetry: { backendRef } };
    await mesh.policy('MeshTrace', 'otel-http', { targetRef: CLIENT, default: { backends: [backend] } });
    await mesh.many(10, cart, '/observed');
    await expect.poll(() => collector.seen[0]).toMatchObject({ method: 'POST', path: '/otlp/v1/traces' });
  });
});

describe('a MeshMetric', () => {
  it('offers the metrics of Envoy on its port', async () => {
    const port = await freePort();
    const prometheus = { port, path: '/metrics', tls: { mode: 'Disabled' } };
    await mesh.policy('MeshMetric', 'metric', {
      targetRef: CLIENT,
      default: { backends: [{ type: 'Prometheus', prometheus }] },
    });
    await expect.poll(async () => (await mesh.get(port, '/metrics')).body).toContain('# TYPE envoy_cluster_upstream_rq_total');
  });
});

describe('a policy that plain text cannot enforce', () => {
  it.each([
    ['MeshTLS', { rules: [{ default: { mode: 'Strict' } }] }],
    ['MeshPassthrough', { default: { passthroughMode: 'None' } }],
  ])('%s lets requests pass in and out', async (type, spec) => {
    await mesh.policy(type, 'unenforced', { targetRef: CLIENT, ...spec });
    expect([(await mesh.get(inbound)).body, (await mesh.get(cart)).body]).toEqual(['self', 'cart-1']);
  });
});

describe('a MeshProxyPatch', () => {
  it('adds what no other policy offers', async () => {
    const header = { header: { key: 'x-patched', value: 'yes' } };
    const jsonPatches = [{ op: 'add', path: '/responseHeadersToAdd', value: [header] }];
    const match = { name: 'kri_msvc_observed_east__cart_main' };
    const appendModifications = [{ virtualHost: { operation: 'Patch', match, jsonPatches } }];
    await mesh.policy('MeshProxyPatch', 'patch', { targetRef: CLIENT, default: { appendModifications } });
    expect((await mesh.get(cart)).headers['x-patched']).toBe('yes');
  });
});
