// A real kuma-dp whose connections are redirected, with a real Envoy at a Meridian zone: which names it answers, and when.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Resolver } from 'node:dns/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it, onTestFinished, vi } from 'vitest';
import { NO_ENVOY } from '../../src/dataplane/find-envoy.ts';
import { ControlPlane, WAIT } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { KumaDp } from './kuma-dp.ts';

let zone: ControlPlane;
let folder: string;
let plane: { readonly url: string; readonly ca: string };

beforeAll(async () => {
  if (inject('envoy') === '') throw new Error(NO_ENVOY);
  folder = await mkdtemp(join(tmpdir(), 'mkn-'));
  const port = await freePort();
  zone = new ControlPlane('zone', await cloneDatabase(inject('postgresUrl')), await freePort(), {
    MERIDIAN_MULTIZONE_ZONE_NAME: 'east',
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    MERIDIAN_DP_SERVER_PORT: String(port),
    MERIDIAN_DP_SERVER_INTERFACE: 'localhost',
    MERIDIAN_DP_SERVER_AUTHN_DP_PROXY_TYPE: 'none',
  });
  zone.start();
  await vi.waitFor(async () => expect(await zone.ready()).toBe(200), WAIT);
  plane = {
    url: `https://localhost:${String(port)}`,
    ca: join(zone.env['MERIDIAN_GENERAL_WORK_DIR'] ?? '', 'east/dp-server/cert.pem'),
  };
  await put('', { type: 'Mesh', name: 'shop', skipCreatingInitialPolicies: ['*'] });
  await service('cart');
});
afterAll(async () => {
  await zone.end('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

async function put(path: string, body: Record<string, unknown>): Promise<void> {
  expect(await zone.put(`/meshes/shop${path}`, body)).toBeLessThan(300);
}

async function service(name: string): Promise<void> {
  const selector = { dataplaneLabels: { matchLabels: { app: name } } };
  const spec = { selector, ports: [{ port: 80, targetPort: 8080, appProtocol: 'http' }] };
  await put(`/meshservices/${name}`, { type: 'MeshService', mesh: 'shop', name, spec });
}

/** A redirected kuma-dp, and a client of its DNS server. */
async function start(): Promise<{ run: KumaDp; resolve: (hostname: string, type?: 'A' | 'AAAA') => Promise<string> }> {
  const workDir = join(folder, 'web');
  await mkdir(workDir);
  const networking = {
    address: '127.0.0.1',
    inbound: [{ name: 'http', port: await freePort(), protocol: 'http' }],
    transparentProxying: { redirectPortInbound: await freePort(), redirectPortOutbound: await freePort() },
  };
  await writeFile(
    join(workDir, 'dataplane.json'),
    JSON.stringify({ type: 'Dataplane', mesh: 'shop', name: 'web-1', networking }),
  );
  const flags = [`--dataplane-file=${workDir}/dataplane.json`, '--concurrency=1'];
  const dns = await freePort();
  const run = await KumaDp.start({
    ...{ ...plane, envoy: inject('envoy'), workDir, flags },
    env: { KUMA_DNS_PROXY_PORT: String(dns) },
  });
  onTestFinished(() => run.stop());
  const resolver = new Resolver({ timeout: 1_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${String(dns)}`]);
  const resolve = async (hostname: string, type: 'A' | 'AAAA' = 'A'): Promise<string> =>
    await resolver.resolve(hostname, type).then(
      (addresses) => addresses.join(),
      (error: unknown) => String((error as { code?: unknown }).code),
    );
  return { run, resolve };
}

it('answers the names of services when its Envoy listens for them, and is ready at once', async () => {
  const { run, resolve } = await start();
  await expect.poll(() => run.ready(), WAIT).toBe('200 LIVE');
  await expect.poll(() => resolve('cart.svc.mesh.local'), WAIT).toMatch(/^241\./);
  expect(await resolve('cart.svc.mesh.local', 'AAAA')).toMatch(/^::ffff:/);
  await service('catalog');
  await expect.poll(() => resolve('catalog.svc.mesh.local'), WAIT).toMatch(/^241\./);
  const url = `http://127.0.0.1:${String(zone.api)}/meshes/shop/meshservices/catalog`;
  expect((await fetch(url, { method: 'DELETE' })).status).toBe(200);
  await expect.poll(() => resolve('catalog.svc.mesh.local'), WAIT).not.toMatch(/^241\./);
  expect(await resolve('cart.svc.mesh.local')).toMatch(/^241\./);
});
