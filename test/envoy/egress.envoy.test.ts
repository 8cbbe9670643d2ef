// An egress sends nothing in plain text to an external service that asks for TLS, whatever its Envoy takes (decision 56).
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import type { Application } from './application.ts';
import { Collector } from './collector.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { SteadyRequests } from './steady-requests.ts';

const MESH = 'egress';
const NO_CERTIFICATE = Buffer.from('no certificate').toString('base64');
const CA_CERT = { type: 'Secret', secretRef: { kind: 'Secret', name: 'authority' } };
/** External services by protocol, each with an outbound. */
const services = { http: { port: 0 }, tcp: { port: 0 } };

let mesh: EnvoyMesh;
let egress: Proxy;
const outside: Record<string, Application> = {};

beforeAll(async () => {
  mesh = await EnvoyMesh.open(MESH);
  await mesh.put('MeshTrafficPermission', 'all', {
    spec: { rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: `spiffe://${MESH}.east.mesh.local` } }] } }] },
  });
  await mesh.put('MeshIdentity', 'identity', {
    spec: {
      selector: { dataplane: { matchLabels: {} } },
      provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
    },
  });
  await mesh.put('Secret', 'authority', { data: NO_CERTIFICATE });
  for (const protocol of ['http', 'tcp'] as const) {
    outside[protocol] = await mesh.application(protocol, protocol);
    services[protocol].port = await freePort();
    await write(protocol, null);
  }
  const zoneEgress = { address: '127.0.0.1', port: await freePort() };
  egress = await mesh.proxy('egress', {
    labels: { app: 'egress', 'kuma.io/workload': 'egress' },
    listeners: { zoneEgress },
    drainSeconds: 1,
  });
  const outbounds = Object.entries(services).map(([name, { port }]) => ({
    port,
    backendRef: { kind: 'MeshExternalService', labels: { 'kuma.io/display-name': name } },
  }));
  await mesh.proxy('cart', { labels: { app: 'cart', 'kuma.io/workload': 'cart' }, outbounds });
});

afterAll(() => mesh.close());

async function write(protocol: 'http' | 'tcp', verification: JsonObject | null): Promise<void> {
  const spec = {
    match: { type: 'HostnameGenerator', port: 80, protocol },
    endpoints: [{ address: '127.0.0.1', port: outside[protocol]?.port ?? 0 }],
    ...(verification !== null && { tls: { enabled: true, verification } }),
  };
  await mesh.put('MeshExternalService', protocol, { spec });
}

/** Whether a connection or a request reaches the external service in plain text. */
async function isReached(protocol: 'http' | 'tcp'): Promise<boolean> {
  const seen = outside[protocol]?.seen ?? [];
  const before = seen.length;
  if (protocol === 'http') await mesh.get(services.http.port);
  else await mesh.say(services.tcp.port);
  return seen.length > before;
}

it('follows the policies about connections to an external service, and only these', async () => {
  await expect.poll(() => isReached('http'), { timeout: 20_000 }).toBe(true);
  const to = (targetRef: JsonObject, conf: JsonObject): JsonObject => ({ spec: { to: [{ targetRef, default: conf }] } });
  const bank = { kind: 'MeshExternalService', name: 'http' };
  const policies: [string, JsonObject][] = [
    ['MeshCircuitBreaker', to(bank, { connectionLimits: { maxConnections: 7 } })],
    ['MeshTimeout', to({ kind: 'Mesh' }, { connectionTimeout: '7s' })],
    ['MeshHealthCheck', to(bank, { interval: '1s', timeout: '1s', http: { path: '/health' } })],
    ['MeshLoadBalancingStrategy', to(bank, { loadBalancer: { type: 'LeastRequest' } })],
    ['MeshRetry', to(bank, { http: { numRetries: 3 } })],
  ];
  for (const [type, body] of policies) await mesh.put(type, 'outside', body);
  onTestFinished(async () => {
    for (const [type] of policies) await mesh.delete(type, 'outside');
  });
  const clusters = (): Promise<string> => egress.admin('/clusters');
  await vi.waitFor(async () => expect(await clusters()).toMatch(/egress:\S*__http_80::default_priority::max_connections::7/));
  // The external service is asked whether it is healthy, by the egress and through it by the client.
  await vi.waitFor(() => expect(outside['http']?.seen.map(({ path }) => path)).toContain('/health'));
  await vi.waitFor(async () => {
    const dump = await egress.admin('/config_dump');
    expect(dump).toContain('"connect_timeout": "7s"');
    expect(dump).toContain('LEAST_REQUEST');
    expect(dump).not.toContain('num_retries');
  });
  expect(await isReached('http')).toBe(true);
});

it('sends spans of requests to an external service, which say where it is', async () => {
  await write('http', null);
  await expect.poll(() => isReached('http'), { timeout: 20_000 }).toBe(true);
  const collector = await Collector.listen();
  onTestFinished(() => collector.close());
  await mesh.put('MeshOpenTelemetryBackend', 'otel', { spec: { endpoint: { address: '127.0.0.1', port: collector.port } } });
  const backendRef = { kind: 'MeshOpenTelemetryBackend', labels: { 'kuma.io/display-name': 'otel' } };
  await mesh.policy('MeshTrace', 'otel', {
    targetRef: { kind: 'Dataplane', labels: { app: 'egress' } },
    default: { backends: [{ type: 'OpenTelemetry', openTelemetry: { backendRef } }] },
  });
  await mesh.many(10, services.http.port, '/traced');
  const span = (): unknown => collector.spans.find(({ attributes }) => attributes['http.url']?.endsWith('/traced') === true);
  await expect.poll(span, { timeout: 20_000 }).toMatchObject({
    resource: { 'service.name': 'egress' },
    attributes: { 'kuma.mesh': MESH, 'kuma.zone': 'east', 'kuma.workload': `kri_wl_${MESH}_east__egress_` },
  });
});

it.each<['http' | 'tcp', what: string, verification: JsonObject]>([
  ['http', 'the authority is no certificate', { caCert: CA_CERT }],
  ['tcp', 'the authority is no certificate', { caCert: CA_CERT }],
  ['http', 'Envoy refuses the cluster', { mode: 'SkipAll' }],
  ['tcp', 'Envoy refuses the cluster', { mode: 'SkipAll' }],
])('an external service of %s that gets TLS gets nothing in plain text, where %s', async (protocol, what, verification) => {
  await write(protocol, null);
  await expect.poll(() => isReached(protocol), { timeout: 20_000 }).toBe(true);
  if (what.includes('refuses')) {
    // Envoy takes this policy of balancing in clusters of another type alone.
    const value = 'lbPolicy: CLUSTER_PROVIDED';
    const modification = {
      cluster: { operation: 'Patch', match: { name: `egress:tls:kri_extsvc_${MESH}_east__${protocol}_80` }, value },
    };
    await mesh.policy('MeshProxyPatch', 'broken', { default: { appendModifications: [modification] } });
  }
  const rejected = (): Promise<number> => egress.sum(/^cluster_manager\.cds\.update_rejected$/);
  const before = await rejected();
  await write(protocol, verification);
  await mesh.settle();
  expect((await rejected()) > before).toBe(what.includes('refuses'));
  await vi.waitFor(async () => expect(await isReached(protocol)).toBe(false));
  if (protocol === 'http') expect((await mesh.get(services.http.port)).status).toBe(503);
});

describe('no request is lost by an egress whose connections drain within a second', () => {
  const fault = { http: [{ abort: { httpStatus: 503, percentage: 0 } }] };
  const rate = { num: 1_000_000, interval: '1s' };
  it.each<[type: string, conf: JsonObject]>([
    ['MeshFaultInjection', fault],
    ['MeshRateLimit', { local: { http: { requestRate: rate }, tcp: { connectionRate: rate } } }],
    ['MeshTimeout', { http: { requestTimeout: '9s', streamIdleTimeout: '9s' } }],
    ['MeshTrafficPermission', { allow: [{ spiffeID: { type: 'Exact', value: 'spiffe://other.example/a' } }] }],
  ])('while a %s comes and goes', async (type, conf) => {
    await write('http', null);
    await expect.poll(() => isReached('http'), { timeout: 20_000 }).toBe(true);
    const { port } = services.http;
    const clients = [Infinity, 3].map((perConnection) => ({ port, perConnection }));
    const requests = await SteadyRequests.during(clients, async (asked) => {
      for (const work of [
        () =>
          mesh.put(type, 'edit', {
            spec: { targetRef: { kind: 'Dataplane', labels: { app: 'egress' } }, rules: [{ default: conf }] },
          }),
        () => mesh.delete(type, 'edit'),
      ]) {
        await work();
        await mesh.settle();
        await asked.more(50);
        await expect.poll(() => egress.sum(/^listener_manager\.total_filter_chains_draining$/), { timeout: 30_000 }).toBe(0);
        await asked.more(50);
      }
    });
    expect(requests.failures).toEqual(new Map());
  });
});
