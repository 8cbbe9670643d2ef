// Proxies of a real zone: a request of one application to another passes two Envoys.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTcp, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { endWithTest } from '../support/children.ts';
import { controlPlaneEnv } from '../support/control-plane-env.ts';
import { MERIDIAN } from '../support/control-plane.ts';
import { cloneDatabase } from '../support/postgres-database.ts';
import { PACE_MS } from '../envoy/steady-requests.ts';
import { WAIT } from '../support/wait.ts';
import { freePort } from '../support/free-port.ts';
import { outputOf } from '../support/run-meridian.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Launched } from './launched.ts';

type Zone = { readonly url: string; readonly ca: string; readonly api: string };

/** A zone on its own. It ends with the process of the test. */
async function startZone(): Promise<Zone> {
  const database = await cloneDatabase(inject('postgresUrl'));
  const folder = await mkdtemp(join(inject('embeddedFolder'), 'zone-'));
  const [api, diagnostics, proxies] = [await freePort(), await freePort(), await freePort()];
  const ports = ['--api-port', String(api), '--diagnostics-port', String(diagnostics)];
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MERIDIAN_'));
  endWithTest(
    spawn(MERIDIAN, ['zone', 'run', '--name', 'east', ...ports, '--log-level', 'silent'], {
      env: {
        ...Object.fromEntries(inherited),
        ...controlPlaneEnv(database, api),
        MERIDIAN_GENERAL_WORK_DIR: folder,
        MERIDIAN_DP_SERVER_PORT: String(proxies),
        // A Dataplane that goes earlier has left by itself.
        MERIDIAN_XDS_SERVER_DATAPLANE_DEREGISTRATION_DELAY: '1h',
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    }),
  );
  await vi.waitFor(async () => {
    const { status } = await fetch(`http://127.0.0.1:${String(diagnostics)}/ready`);
    expect(status).toBe(200);
  }, WAIT);
  const ca = await readFile(join(folder, 'east/dp-server/cert.pem'), 'utf8');
  return { url: `https://localhost:${String(proxies)}`, ca, api: `http://127.0.0.1:${String(api)}` };
}

let zone: Zone;
beforeAll(async () => {
  zone = await startZone();
  await send(`${zone.api}/meshes/shop`, 'PUT', { type: 'Mesh', name: 'shop' });
});

async function send(url: string, method: string, body: object): Promise<string> {
  const answer = await fetch(url, { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url}: ${text}`);
  return text;
}

async function token({ api }: Zone, name: string): Promise<string> {
  return await send(`${api}/tokens/dataplane`, 'POST', { mesh: 'shop', name, validFor: '1h' });
}

/** What comes to a TCP port. */
async function collector(): Promise<{ port: number; text: () => string }> {
  let all = '';
  const server = createTcp((socket) => socket.on('data', (part) => (all += part.toString()))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, text: () => all };
}

/** The document of a Dataplane of the cart. */
async function cartOf(name: string, servicePort: number): Promise<string> {
  return JSON.stringify({
    ...{ type: 'Dataplane', mesh: 'shop', name, labels: { app: 'cart' } },
    networking: {
      address: '127.0.0.1',
      inbound: [{ name: 'http', port: await freePort(), servicePort, serviceAddress: '127.0.0.1', protocol: 'http' }],
    },
  });
}

/** An application that says its name. */
async function application(name: string): Promise<number> {
  const server = createServer((_request, response) => response.end(name)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it('has the Dataplane of a file as long as its proxy runs, and no request fails when it goes', async () => {
  const shop = `${zone.api}/meshes/shop`;
  await send(`${shop}/meshservices/cart`, 'PUT', {
    ...{ type: 'MeshService', mesh: 'shop', name: 'cart' },
    spec: {
      selector: { dataplaneLabels: { matchLabels: { app: 'cart' } } },
      ports: [{ name: 'http', port: 80, targetPort: 'http', appProtocol: 'http' }],
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
  const start = async (name: string, document: string | null, args: readonly string[]): Promise<Launched> =>
    await Launched.start([zone], {
      ...{ envoy: inject('envoy'), token: await token(zone, name), document },
      args: ['--concurrency', '1', ...args],
    });
  const cart = async (name: string): Promise<Launched> =>
    await start(name, await cartOf(name, await application(name)), ['--drain-time', '2s']);
  const [one, two, checkout] = await Promise.all([
    cart('cart-1'),
    cart('cart-2'),
    start('checkout', null, ['--mesh', 'shop', '--name', 'checkout']),
  ]);
  for (const run of [one, two, checkout]) await expect.poll(() => run.ready()).toBe('200 LIVE');
  const url = `http://127.0.0.1:${String(port)}/`;
  const bodyOf = async (): Promise<string> =>
    await fetch(url).then(
      async (answer) => (answer.ok ? await answer.text() : String(answer.status)),
      (error: unknown) => String(error),
    );
  const seen = new Set<string>();
  await expect.poll(async () => seen.add(await bodyOf()).has('cart-1') && seen.has('cart-2')).toBe(true);

  const logged = await collector();
  const tcp = { address: `127.0.0.1:${String(logged.port)}`, format: { type: 'Plain', plain: '%REQ(:PATH)% %RESPONSE_CODE%' } };
  await send(`${shop}/meshaccesslogs/tcp`, 'PUT', {
    ...{ type: 'MeshAccessLog', mesh: 'shop', name: 'tcp' },
    spec: { to: [{ targetRef: { kind: 'Mesh' }, default: { backends: [{ type: 'Tcp', tcp }] } }] },
  });
  await expect.poll(async () => [await bodyOf(), logged.text()][1]).toContain('/ 200\n');

  const statusOf = async (name: string): Promise<number> => (await fetch(`${shop}/dataplanes/${name}`)).status;
  expect(await statusOf('cart-1')).toBe(200);
  let isOver = false;
  const answers: string[] = [];
  const traffic = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      answers.push(await bodyOf());
      await delay(PACE_MS);
    }
  });
  await expect.poll(() => answers).toContain('cart-1');
  one.signal('SIGTERM');
  // Asked first: on a busy machine the drain time ends before there are fifty answers.
  await expect.poll(() => one.ready()).toBe('503 DRAINING');
  await expect.poll(() => answers.slice(-50).every((body) => body === 'cart-2')).toBe(true);
  expect(await one.code()).toBe(0);
  const after = answers.length;
  expect(await statusOf('cart-1')).toBe(404);
  await expect.poll(() => answers.length).toBeGreaterThan(after + 50);
  isOver = true;
  await Promise.all(traffic);
  expect(new Set(answers)).toEqual(new Set(['cart-1', 'cart-2']));

  checkout.signal('SIGTERM');
  expect(await checkout.code()).toBe(0);
  expect(await statusOf('checkout')).toBe(200);
});

it('shows what an Envoy refuses, in its words, and what it says of itself', async () => {
  const shop = `${zone.api}/meshes/shop`;
  const inUse = await application('another program');
  const document = JSON.stringify({
    ...{ type: 'Dataplane', mesh: 'shop', name: 'taken-1', labels: { app: 'taken' } },
    networking: {
      address: '127.0.0.1',
      inbound: [
        { name: 'http', port: await freePort(), servicePort: inUse, serviceAddress: '127.0.0.1', protocol: 'http' },
        { name: 'taken', port: inUse, servicePort: inUse, serviceAddress: '127.0.0.1', protocol: 'http' },
      ],
    },
  });
  const args = ['--concurrency', '1'];
  await Launched.start([zone], { envoy: inject('envoy'), token: await token(zone, 'taken-1'), document, args });
  const get = async (path: string): Promise<string> => await (await fetch(`${shop}/dataplanes/taken-1${path}`)).text();
  await expect.poll(() => get('/_overview')).toContain('Address already in use');
  // The policies that it names may still change: the defaults of the mesh come at their own time.
  const problems = async (): Promise<[overview: object[], effective: object[]]> => {
    const { proxyProblems } = JSON.parse(await get('/_overview')) as { proxyProblems: object[] };
    return [proxyProblems, (JSON.parse(await get('/_effective')) as { problems: object[] }).problems];
  };
  await expect.poll(async () => isDeepStrictEqual(...(await problems()))).toBe(true);
  expect((await problems())[0]).toMatchObject([{ kind: 'refused', at: 'Listener self_inbound_dp_taken' }]);

  expect(await get('/stats')).toMatch(/^listener_manager\.lds\.update_rejected: 1$/m);
  expect(await get('/clusters')).toContain('self_inbound_dp_http::');
  expect(await get('/xds')).toContain('self_inbound_dp_http');
  expect(JSON.parse(await get('/_config'))).toMatchObject({
    xds: { 'type.googleapis.com/envoy.config.cluster.v3.Cluster': { self_inbound_dp_http: {}, self_inbound_dp_taken: {} } },
  });
});

it('connects with a Dataplane in a namespace, and needs a token for the name with the namespace', async () => {
  const document = JSON.stringify({
    ...{ type: 'Dataplane', mesh: 'shop', name: 'fx', labels: { 'k8s.kuma.io/namespace': 'ns' } },
    networking: { address: '127.0.0.1', inbound: [{ name: 'http', port: await freePort(), protocol: 'http' }] },
  });
  const start = async (name: string): Promise<Launched> =>
    await Launched.start([zone], {
      ...{ envoy: inject('envoy'), token: await token(zone, name), document },
      args: ['--concurrency', '1'],
    });
  const refused = await start('fx');
  expect(await refused.code()).toBe(1);
  expect(refused.log).toContain('meridian generate dataplane-token --mesh shop --name fx.ns');
  const run = await start('fx.ns');
  await expect.poll(() => run.ready()).toBe('200 LIVE');
  const overview = async (): Promise<Response> => await fetch(`${zone.api}/meshes/shop/dataplanes/fx.ns/_overview`);
  await expect.poll(async () => await (await overview()).text()).toContain('connectTime');
  run.signal('SIGTERM');
  expect(await run.code()).toBe(0);
  expect((await overview()).status).toBe(404);
});

it('makes itself the egress of the zone by a token of that type alone', async () => {
  const name = 'egress-1';
  const document = JSON.stringify({
    ...{ type: 'Dataplane', mesh: 'shop', name },
    networking: {
      address: '127.0.0.1',
      listeners: [{ type: 'ZoneEgress', name: 'egress', address: '127.0.0.1', port: await freePort() }],
    },
  });
  const tokenOf = async (type: string): Promise<string> =>
    await send(`${zone.api}/tokens/dataplane`, 'POST', { mesh: 'shop', name, type, validFor: '1h' });
  const start = async (type: string): Promise<Launched> =>
    await Launched.start([zone], { envoy: inject('envoy'), token: await tokenOf(type), document, args: ['--concurrency', '1'] });
  const url = `${zone.api}/meshes/shop/dataplanes/${name}`;
  const refused = await start('dataplane');
  await expect.poll(() => refused.log).toContain('--name egress-1 --type egress');
  expect((await fetch(url)).status).toBe(404);
  refused.signal('SIGTERM');
  await refused.code();
  const run = await start('egress');
  await expect.poll(() => run.ready()).toBe('200 LIVE');
  expect(await (await fetch(url)).json()).toMatchObject({ labels: { 'kuma.io/listener-zoneegress': 'enabled' } });
});

describe('a right that the token of a connected proxy lacks', () => {
  const LABELS = { team: 'pay' };
  const claims = { mesh: 'shop', name: 'pay-1', tags: { team: ['pay'] }, validFor: '1h' };
  const dataplane = `/meshes/shop/dataplanes/pay-1`;
  let networking: object;

  const write = async (labels: Record<string, string>): Promise<void> => {
    const document = { type: 'Dataplane', mesh: 'shop', name: 'pay-1', labels, networking };
    await send(`${zone.api}${dataplane}`, 'PUT', document);
  };
  const tokenWith = async (given: object): Promise<string> =>
    await send(`${zone.api}/tokens/dataplane`, 'POST', { ...claims, ...given });
  const start = async (given: object): Promise<Launched> =>
    await Launched.start([zone], {
      ...{ envoy: inject('envoy'), token: await tokenWith(given), document: null },
      args: ['--concurrency', '1', '--mesh', 'shop', '--name', 'pay-1'],
    });
  /** What `meridian inspect problems` and `GET /_problems` say of the proxy. */
  const said = async (): Promise<{ readonly command: string; readonly codes: readonly string[] }> => {
    const command = await outputOf(['inspect', 'problems', '--address', zone.api]);
    const { items } = (await (await fetch(`${zone.api}/_problems`)).json()) as {
      items: { code: string; resources?: string[] }[];
    };
    return { command, codes: items.flatMap(({ code, resources = [] }) => (resources.includes('pay-1') ? [code] : [])) };
  };
  const answer = async (port: number): Promise<string> =>
    await fetch(`http://127.0.0.1:${String(port)}/`).then(
      (response) => response.text(),
      () => 'none',
    );

  it('is one sentence of every command, and the proxy keeps what it serves until it is cut', async () => {
    const port = await freePort();
    const inbound = { name: 'http', port, servicePort: await application('paid'), serviceAddress: '127.0.0.1', protocol: 'http' };
    networking = { address: '127.0.0.1', inbound: [inbound] };
    await write(LABELS);
    const run = await start({});
    await expect.poll(() => run.ready()).toBe('200 LIVE');
    await expect.poll(() => answer(port)).toBe('paid');
    expect((await said()).codes).toEqual([]);
    for (const [labels, right] of [
      [{ ...LABELS, 'kuma.io/workload': 'cart' }, '--workload cart'],
      [{ team: 'stock' }, 'team'],
    ] as [Record<string, string>, string][]) {
      await write(labels);
      await expect.poll(async () => (await said()).codes).toEqual(['tokenLacksRight']);
      const sentence = /^.*Dataplane pay-1 of mesh shop.*$/m.exec((await said()).command)?.[0];
      expect(sentence).toContain(right);
      // It keeps its configuration: nothing that it served stops.
      expect(await answer(port)).toBe('paid');
      await write(LABELS);
      await expect.poll(async () => (await said()).codes).toEqual([]);
    }

    const file = join(temporaryFolder(), 'token');
    await writeFile(file, await readFile(join(run.folder, 'token'), 'utf8'));
    await outputOf(['token', 'revoke', file, '--address', zone.api]);
    await expect.poll(async () => (await said()).codes).toEqual(['proxyNotAdmitted']);
    expect((await said()).command).toMatch(/^the proxy of Dataplane pay-1 of mesh shop is not let in: .*revoked/m);
    await expect
      .poll(() => outputOf(['inspect', 'dataplanes', '--mesh', 'shop', '--address', zone.api]))
      .toMatch(/pay-1\s.*Offline/);
    // A token in the same file is read without a restart.
    await writeFile(join(run.folder, 'token'), await tokenWith({}));
    await expect.poll(async () => (await said()).codes).toEqual([]);
    expect(await answer(port)).toBe('paid');
  });

  it.each<[what: string, given: object, reason: RegExp]>([
    ['another name', { name: 'pay-2' }, /--name pay-1/],
    ['other tags', { tags: { team: ['stock'] } }, /allows tag "team" the values "stock", and the Dataplane has "pay"/],
    ['another type', { type: 'egress' }, /is for a proxy of type "egress"/],
    // The last: a token that does not count makes the next callers from its address wait.
    ['another mesh', { mesh: 'default' }, /does not have the signature of key .* --mesh shop --name pay-1/],
  ])('a token for %s is refused at once, in one sentence', async (_, given, reason) => {
    networking = { address: '127.0.0.1', inbound: [{ name: 'http', port: await freePort(), protocol: 'http' }] };
    await write(LABELS);
    await start(given);
    const sentence = async (): Promise<string | undefined> =>
      /^the proxy of Dataplane pay-1 of mesh shop is not let in: .*$/m.exec((await said()).command)?.[0];
    // The one before it is said until this one is refused.
    await expect.poll(sentence).toMatch(reason);
    expect((await said()).codes).toEqual(['proxyNotAdmitted']);
  });
});
