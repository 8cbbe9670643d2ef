// Proxies of a real zone: a request of one application to another passes two Envoys.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { endWithTest } from '../support/children.ts';
import { MERIDIAN } from '../support/control-plane.ts';
import { embeddedFolder } from '../support/embedded-store.ts';
import { freePort } from '../support/free-port.ts';
import { Launched } from './launched.ts';
import { temporaryFolder } from './temporary-home.ts';

type Zone = { readonly url: string; readonly ca: string; readonly api: string };

/** A zone on its own, with an embedded store. It ends with the test. */
async function startZone(): Promise<Zone> {
  const folder = await temporaryFolder();
  const [api, diagnostics, proxies] = [await freePort(), await freePort(), await freePort()];
  const ports = ['--api-port', String(api), '--diagnostics-port', String(diagnostics)];
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MERIDIAN_'));
  const child = endWithTest(
    spawn(
      MERIDIAN,
      ['zone', 'run', '--name', 'east', ...ports, '--store-path', await embeddedFolder(), '--log-level', 'silent'],
      {
        env: {
          ...Object.fromEntries(inherited),
          MERIDIAN_GENERAL_WORK_DIR: folder,
          MERIDIAN_DP_SERVER_PORT: String(proxies),
          MERIDIAN_XDS_SERVER_DATAPLANE_DEREGISTRATION_DELAY: '100ms',
        },
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    ),
  );
  onTestFinished(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  });
  await expect
    .poll(
      async () =>
        await fetch(`http://127.0.0.1:${String(diagnostics)}/ready`).then(
          ({ status }) => status,
          () => 0,
        ),
    )
    .toBe(200);
  const ca = await readFile(join(folder, 'east/dp-server/cert.pem'), 'utf8');
  return { url: `https://localhost:${String(proxies)}`, ca, api: `http://127.0.0.1:${String(api)}` };
}

async function send(url: string, method: string, body: object): Promise<string> {
  const answer = await fetch(url, { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url}: ${text}`);
  return text;
}

async function token({ api }: Zone, name: string): Promise<string> {
  return await send(`${api}/tokens/dataplane`, 'POST', { mesh: 'shop', name, validFor: '1h' });
}

/** An application that says its name. */
async function application(name: string): Promise<number> {
  const server = createServer((_request, response) => response.end(name)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it('passes a request between applications, and has the Dataplane of a file as long as its proxy runs', async () => {
  const zone = await startZone();
  const shop = `${zone.api}/meshes/shop`;
  await send(shop, 'PUT', { type: 'Mesh', name: 'shop' });
  await send(`${shop}/meshservices/cart`, 'PUT', {
    ...{ type: 'MeshService', mesh: 'shop', name: 'cart' },
    spec: {
      selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } },
      ports: [{ name: 'http', port: 80, targetPort: 'http', appProtocol: 'http' }],
    },
  });
  const servicePort = await application('cart');
  const document = JSON.stringify({
    ...{ type: 'Dataplane', mesh: 'shop', name: 'cart-1', labels: { app: 'cart' } },
    networking: {
      address: '127.0.0.1',
      inbound: [{ name: 'http', port: await freePort(), servicePort, serviceAddress: '127.0.0.1', protocol: 'http' }],
    },
  });
  const port = await freePort();
  await send(`${shop}/dataplanes/checkout`, 'PUT', {
    ...{ type: 'Dataplane', mesh: 'shop', name: 'checkout' },
    networking: {
      address: '127.0.0.1',
      inbound: [{ name: 'http', port: await freePort(), protocol: 'http' }],
      outbound: [{ port, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }],
    },
  });
  const start = async (name: string, own: { document: string | null; args: readonly string[] }): Promise<Launched> =>
    await Launched.start([zone], { envoy: inject('envoy'), token: await token(zone, name), ...own });
  const cart = await start('cart-1', { document, args: ['--concurrency', '1'] });
  const checkout = await start('checkout', {
    document: null,
    args: ['--mesh', 'shop', '--name', 'checkout', '--concurrency', '1'],
  });
  for (const run of [cart, checkout]) await expect.poll(() => run.ready()).toBe('200 LIVE');
  const bodyOf = async (): Promise<string> =>
    await fetch(`http://127.0.0.1:${String(port)}/`).then(
      async (answer) => await answer.text(),
      () => '',
    );
  await expect.poll(bodyOf).toBe('cart');

  const statusOf = async (name: string): Promise<number> => (await fetch(`${shop}/dataplanes/${name}`)).status;
  expect(await statusOf('cart-1')).toBe(200);
  for (const run of [cart, checkout]) run.signal('SIGTERM');
  expect(await Promise.all([cart.code(), checkout.code()])).toEqual([0, 0]);
  await expect.poll(() => statusOf('cart-1')).toBe(404);
  expect(await statusOf('checkout')).toBe(200);
});

it('shows what an Envoy refuses, in its words, and what it says of itself', async () => {
  const zone = await startZone();
  const shop = `${zone.api}/meshes/shop`;
  await send(shop, 'PUT', { type: 'Mesh', name: 'shop' });
  const inUse = await application('another program');
  const document = JSON.stringify({
    ...{ type: 'Dataplane', mesh: 'shop', name: 'cart-1', labels: { app: 'cart' } },
    networking: {
      address: '127.0.0.1',
      inbound: [
        { name: 'http', port: await freePort(), servicePort: inUse, serviceAddress: '127.0.0.1', protocol: 'http' },
        { name: 'taken', port: inUse, servicePort: inUse, serviceAddress: '127.0.0.1', protocol: 'http' },
      ],
    },
  });
  const args = ['--concurrency', '1'];
  await Launched.start([zone], { envoy: inject('envoy'), token: await token(zone, 'cart-1'), document, args });
  const get = async (path: string): Promise<string> => await (await fetch(`${shop}/dataplanes/cart-1${path}`)).text();
  await expect.poll(() => get('/_overview')).toContain('Address already in use');
  const { proxyProblems } = JSON.parse(await get('/_overview')) as { proxyProblems: object[] };
  expect(proxyProblems).toMatchObject([{ kind: 'refused', at: 'Listener self_inbound_dp_taken' }]);
  expect(JSON.parse(await get('/_effective'))).toMatchObject({ problems: proxyProblems });

  expect(await get('/stats')).toMatch(/^listener_manager\.lds\.update_rejected: 1$/m);
  expect(await get('/clusters')).toContain('self_inbound_dp_http::');
  expect(await get('/xds')).toContain('self_inbound_dp_http');
  expect(JSON.parse(await get('/_config'))).toMatchObject({
    xds: { 'type.googleapis.com/envoy.config.cluster.v3.Cluster': { self_inbound_dp_http: {}, self_inbound_dp_taken: {} } },
  });
});
