// A real Envoy without kuma-dp: it sends spans, offers its own metrics, and has the filter of a patch.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { MeshIndex } from '../../src/policy/mesh-index.ts';
import { proxyConfig } from '../../src/xds/proxy-config.ts';
import { WITHOUT_FEATURES } from '../../src/xds/proxy-features.ts';
import { make } from '../policy/make-resource.ts';
import { staticBootstrap } from '../support/envoy.ts';
import { freePort } from '../support/free-port.ts';

const FILTER = `
name: mark
typed_config:
  '@type': type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
  default_source_code:
    inline_string: function envoy_on_response(handle) handle:headers():add('x-patched', 'yes') end
`;

let folder = '';
let envoy: ChildProcess | null = null;
const servers: Server[] = [];
/** Requests to the collector: path and body. */
const spans: string[] = [];
const ports = { app: 0, inbound: 0, metrics: 0, collector: 0 };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-telemetry-'));
  for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = await freePort();
  await listen(ports.app, () => undefined);
  await listen(ports.collector, (path, body) => spans.push(`${path} ${body}`));
  const bootstrap = JSON.stringify({
    ...staticBootstrap([{ name: 'real', config: configOfProxy() }]),
    admin: { address: { pipe: { path: join(folder, 'admin.sock') } } },
  });
  const file = join(folder, 'bootstrap.json');
  // The configuration was given an address of its own.
  await writeFile(file, bootstrap.replaceAll('"127.1.0.1"', '"127.0.0.1"'));
  const output = await open(join(folder, 'output'), 'w');
  const args = ['-c', file, '--log-level', 'error', '--concurrency', '1', '--use-dynamic-base-id'];
  envoy = spawn(inject('envoy'), args, { stdio: ['ignore', output.fd, output.fd] });
  await output.close();
});

afterAll(async () => {
  if (envoy !== null && envoy.exitCode === null) {
    envoy.kill('SIGKILL');
    await once(envoy, 'exit');
  }
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await rm(folder, { recursive: true });
});

function configOfProxy() {
  const inbound = { name: 'web', port: ports.inbound, serviceAddress: '127.0.0.1', servicePort: ports.app, protocol: 'http' };
  const url = `http://127.0.0.1:${String(ports.collector)}/spans?key=1`;
  const index = new MeshIndex('default', [
    make('Dataplane', 'shop', { networking: { address: '127.0.0.1', inbound: [inbound] } }, { zone: 'east' }),
    make('MeshTrace', 'trace', {
      default: { backends: [{ type: 'Zipkin', zipkin: { url } }], tags: [{ name: 'by', literal: 'us' }] },
    }),
    make('MeshMetric', 'metric', {
      default: {
        sidecar: { includeUnused: true },
        backends: [{ type: 'Prometheus', prometheus: { port: ports.metrics } }],
      },
    }),
    make('MeshProxyPatch', 'patch', {
      default: { appendModifications: [{ httpFilter: { operation: 'AddFirst', match: { origin: 'inbound' }, value: FILTER } }] },
    }),
  ]);
  const [proxy] = index.proxies();
  if (proxy === undefined) throw new Error('the mesh has no proxy');
  const config = proxyConfig(index, proxy, { ...WITHOUT_FEATURES, adminSocket: join(folder, 'admin.sock') });
  expect(config.problems).toEqual([]);
  return config;
}

async function listen(port: number, take: (path: string, body: string) => unknown): Promise<void> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      take(request.url ?? '', body);
      response.end('ok');
    });
  });
  servers.push(server.listen(port, '127.0.0.1'));
  await once(server, 'listening');
}

async function get(port: number, path: string): Promise<Response | null> {
  return await fetch(`http://127.0.0.1:${String(port)}${path}`).catch(() => null);
}

/** The path goes out as it is: `fetch` would resolve `..`. */
async function statusOf(port: number, method: string, path: string): Promise<number | undefined> {
  const asking = request({ host: '127.0.0.1', port, method, path });
  asking.end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

it('answers through the filter of a MeshProxyPatch', async () => {
  await expect.poll(async () => (await get(ports.inbound, '/'))?.headers.get('x-patched')).toBe('yes');
});

it('sends the spans of its requests to the collector of a MeshTrace', async () => {
  await expect.poll(async () => (await get(ports.inbound, '/'))?.status).toBe(200);
  await expect.poll(() => spans.find((span) => span.startsWith('/spans?key=1 ') && span.includes('"by":"us"'))).toBeDefined();
});

it('offers the metrics of its requests on the port of a MeshMetric', async () => {
  await expect.poll(async () => (await get(ports.inbound, '/'))?.status).toBe(200);
  const metrics = await get(ports.metrics, '/metrics');
  const lines = (await metrics?.text())?.split('\n') ?? [];
  expect(
    lines.find((line) => line.startsWith('envoy_http_downstream_rq_total{') && line.includes('self_inbound_dp_web')),
  ).toMatch(/ [1-9]\d*$/);
});

it.each([
  ['GET', '/metrics/../../config_dump'],
  ['GET', '/metrics/%2e%2e/%2e%2e/server_info'],
  ['GET', '/metrics/..%2f..%2fserver_info'],
  ['GET', '/metrics/'],
  ['GET', '/metrics;/../../server_info'],
  ['GET', '//metrics/../../server_info'],
  ['GET', '/server_info'],
  ['POST', '/metrics'],
  ['POST', '/metrics/../../logging?level=debug'],
  ['POST', '/metrics/../../quitquitquit'],
])('opens no other page of the admin interface on the port for metrics: %s %s', async (method, path) => {
  await expect.poll(async () => (await get(ports.metrics, '/metrics'))?.status).toBe(200);
  expect(await statusOf(ports.metrics, method, path)).toBe(404);
});

it('passes the parameters of a scrape on to the page of the metrics', async () => {
  await expect.poll(async () => (await get(ports.metrics, '/metrics'))?.status).toBe(200);
  const lines = await (await get(ports.metrics, '/metrics?filter=^server.uptime$'))?.text();
  expect(lines).toContain('envoy_server_uptime');
  expect(lines).not.toContain('envoy_http_downstream_rq_total');
});
