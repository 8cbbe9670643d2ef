// Real kuma-dp with real Envoys at a Meridian zone, beside `meridian dataplane run`: each calls the others.
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttp, request, type IncomingMessage } from 'node:http';
import { createServer as createTcp, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, inject, it, onTestFinished, vi } from 'vitest';
import { NO_ENVOY } from '../../src/dataplane/find-envoy.ts';
import { Launched } from '../dataplane/launched.ts';
import { ControlPlane, WAIT } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { KumaDp } from './kuma-dp.ts';
import { Kumactl } from './kumactl.ts';

const SHOP = '/meshes/shop';
let zone: ControlPlane;
let folder: string;
let plane: { readonly url: string; readonly ca: string };
const servers: Server[] = [];
/** The application of each name. */
const applications = new Map<Name, Server>();

/** A proxy of each program, with its application. */
const ports = { cart: { inbound: 0, outbound: 0 }, catalog: { inbound: 0, outbound: 0 }, checkout: { inbound: 0, outbound: 0 } };
type Name = keyof typeof ports;
/** What each calls: kuma-dp calls kuma-dp, kuma-dp calls Meridian, Meridian calls kuma-dp. */
const CALLS: Readonly<Record<Name, Name>> = { checkout: 'cart', cart: 'catalog', catalog: 'checkout' };
const NAMES: readonly Name[] = ['checkout', 'cart', 'catalog'];
/** The certificate of the client, as the application of a name saw it last. */
const clients = new Map<Name, string>();

beforeAll(async () => {
  if (inject('envoy') === '') throw new Error(NO_ENVOY);
  folder = await mkdtemp(join(tmpdir(), 'mkd-'));
  const port = await freePort();
  zone = new ControlPlane('zone', await cloneDatabase(inject('postgresUrl')), await freePort(), {
    MERIDIAN_MULTIZONE_ZONE_NAME: 'east',
    MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(await freePort()),
    MERIDIAN_DP_SERVER_PORT: String(port),
    MERIDIAN_DP_SERVER_INTERFACE: 'localhost',
  });
  zone.start();
  await vi.waitFor(async () => expect(await zone.ready()).toBe(200), WAIT);
  plane = {
    url: `https://localhost:${String(port)}`,
    ca: join(zone.env['MERIDIAN_GENERAL_WORK_DIR'] ?? '', 'east/dp-server/cert.pem'),
  };
  await put('', { type: 'Mesh', name: 'shop', skipCreatingInitialPolicies: ['*'] });
  for (const name of NAMES)
    await put(`/meshservices/${name}`, {
      ...{ type: 'MeshService', mesh: 'shop', name },
      spec: {
        selector: { dataplaneLabels: { matchLabels: { app: name } } },
        ports: [{ name: 'http', port: 80, targetPort: 'http', appProtocol: 'http' }],
      },
    });
});
afterAll(async () => {
  await zone.end('SIGTERM');
  for (const server of servers) server.close();
  await rm(folder, { recursive: true, force: true });
});

async function put(path: string, body: Record<string, unknown>): Promise<void> {
  expect(await zone.put(SHOP + path, body)).toBeLessThan(300);
}

async function listen(server: Server): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** The Dataplane of a name as JSON, with its application. */
async function documentOf(name: Name): Promise<string> {
  const application = createHttp((asked, response) => {
    clients.set(name, String(asked.headers['x-forwarded-client-cert'] ?? ''));
    response.end(name);
  });
  applications.set(name, application);
  const servicePort = await listen(application);
  ports[name] = { inbound: await freePort(), outbound: await freePort() };
  const { inbound, outbound } = ports[name];
  return JSON.stringify({
    ...{ type: 'Dataplane', mesh: 'shop', name: `${name}-1`, labels: { app: name, 'kuma.io/workload': name } },
    networking: {
      address: '127.0.0.1',
      inbound: [
        { name: 'http', port: inbound, servicePort, serviceAddress: '127.0.0.1', protocol: 'http', serviceProbe: { tcp: {} } },
      ],
      outbound: [{ port: outbound, backendRef: { kind: 'MeshService', name: CALLS[name], port: 80 } }],
    },
  });
}

async function token(workload: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${String(zone.api)}/tokens/dataplane`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mesh: 'shop', workload, validFor: '1h' }),
  });
  return await answer.text();
}

/** With the flags that people give, and its own DNS on. */
async function startKumaDp(name: Name, workload: string = name): Promise<KumaDp> {
  const workDir = join(folder, `${name}-${workload}`);
  await mkdir(workDir);
  await writeFile(join(workDir, 'token'), await token(workload));
  await writeFile(join(workDir, 'dataplane.json'), await documentOf(name));
  const flags = [`--dataplane-file=${workDir}/dataplane.json`, `--dataplane-token-file=${workDir}/token`, '--concurrency=1'];
  const env = { KUMA_DNS_PROXY_PORT: String(await freePort()) };
  const run = await KumaDp.start({ ...plane, envoy: inject('envoy'), workDir, flags, env });
  onTestFinished(() => run.stop());
  return run;
}

/** What the proxy of a name gets of the service that it calls. */
async function call(name: Name): Promise<string> {
  return await fetch(`http://127.0.0.1:${String(ports[name].outbound)}/`).then(
    async (answer) => (answer.ok ? await answer.text() : String(answer.status)),
    (error: unknown) => String(error),
  );
}

/** A document of the socket that kuma-dp asks; `''` where nothing answers. */
async function documentAt(name: Name, path: string): Promise<string> {
  const asked = request({ socketPath: join(folder, `${name}-${name}`, 'kuma-mesh-metric-config.sock'), path, agent: false });
  try {
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return await text(answer);
  } catch {
    return '';
  }
}

it('runs unmodified kuma-dp: it is ready, traffic flows with identity, logs and inspect work', async () => {
  const checkout = await startKumaDp('checkout');
  const cart = await startKumaDp('cart');
  const catalog = await Launched.start([{ ...plane, ca: await readFile(plane.ca, 'utf8') }], {
    ...{ envoy: inject('envoy'), document: await documentOf('catalog'), token: await token('catalog') },
    args: ['--concurrency', '1'],
  });
  for (const run of [checkout, cart, catalog]) await expect.poll(() => run.ready(), WAIT).toBe('200 LIVE');
  // kuma-dp waits 15 s for it before it is ready.
  expect(JSON.parse(await documentAt('checkout', '/dns'))).toEqual({
    records: [],
    ttl: 30,
    extraLabels: { kuma_io_zone: 'east', mesh: 'shop' },
  });
  for (const name of NAMES) await expect.poll(() => call(name), WAIT).toBe(CALLS[name]);

  await put('/meshtrafficpermissions/all', {
    ...{ type: 'MeshTrafficPermission', mesh: 'shop', name: 'all' },
    spec: { rules: [{ default: { allow: [{ spiffeID: { type: 'Prefix', value: 'spiffe://shop.east.mesh.local' } }] } }] },
  });
  await put('/meshidentities/identity', {
    ...{ type: 'MeshIdentity', mesh: 'shop', name: 'identity' },
    spec: {
      selector: { dataplane: { matchLabels: {} } },
      spiffeID: { trustDomain: '{{ .Mesh }}.{{ .Zone }}.mesh.local' },
      provider: { type: 'Bundled', bundled: { autogenerate: { enabled: true } } },
    },
  });
  for (const name of NAMES)
    await expect
      .poll(async () => [await call(name), clients.get(CALLS[name])], WAIT)
      .toEqual([CALLS[name], expect.stringContaining(`URI=spiffe://shop.east.mesh.local/workload/${name}`)]);

  let logged = '';
  const collector = await listen(createTcp((socket) => socket.on('data', (bytes) => (logged += bytes.toString()))));
  const tcp = { address: `127.0.0.1:${String(collector)}`, format: { type: 'Plain', plain: 'from checkout %RESPONSE_CODE%' } };
  await put('/meshaccesslogs/tcp', {
    ...{ type: 'MeshAccessLog', mesh: 'shop', name: 'tcp' },
    spec: {
      targetRef: { kind: 'Dataplane', labels: { app: 'checkout' } },
      to: [{ targetRef: { kind: 'Mesh' }, default: { backends: [{ type: 'Tcp', tcp }] } }],
    },
  });
  await expect.poll(async () => (await call('checkout')) && logged, WAIT).toContain('from checkout 200');

  const kumactl = await Kumactl.of(zone);
  onTestFinished(() => kumactl.close());
  const inspect = async (...args: string[]): Promise<string> =>
    await kumactl.run('inspect', 'dataplane', 'checkout-1', '--mesh', 'shop', ...args);
  expect(await inspect('--type=config-dump')).toContain('self_inbound_dp_http');
  expect(await inspect('--type=stats')).toContain('cluster_manager.cds.update_success');
  expect(await inspect('--type=clusters')).toContain('self_inbound_dp_http::');
  expect(await inspect('--type=config', '--shadow', '--include=diff')).toContain('kri_msvc_shop_east__cart_http');
  expect(await kumactl.run('inspect', 'dataplanes', '--mesh', 'shop')).toMatch(/cart-1.*Online/);

  applications.get('cart')?.close();
  const inbounds = async (): Promise<string> => JSON.stringify([...(await zone.rows('Dataplane'))].sort());
  await expect.poll(inbounds, WAIT).toMatch(/"cart-1".*"NotReady".*"catalog-1"/);
  expect(await inbounds()).not.toMatch(/"catalog-1".*"NotReady"/);
});

it('refuses a kuma-dp whose token is for another workload, with the reason', async () => {
  const run = await startKumaDp('cart', 'catalog');
  await expect.poll(() => run.output + zone.lastWords(), WAIT).toContain('is for workload \\"catalog\\"');
  expect(await run.ready()).not.toContain('200');
});
