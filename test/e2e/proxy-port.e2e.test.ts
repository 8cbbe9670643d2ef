// The port for proxies of a zone that has a global, in a process of its own. A global has none.
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { Client, credentials, Metadata, status, type ClientDuplexStream, type StatusObject } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { adsService } from '../../src/proxy-port/grpc-services.ts';
import { encodeDeltaRequest } from '../../src/wire/kds-messages.ts';
import { startFleet, WAIT, type ControlPlane, type Fleet } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';

let fleet: Fleet;
let zone: ControlPlane;
const ports = new Map<string, number>();
let ca: string;

beforeAll(async () => {
  for (const member of ['global', 'east']) ports.set(member, await freePort());
  fleet = await startFleet(inject('postgresUrl'), ['east'], {
    envOf: (member) => ({
      MERIDIAN_DP_SERVER_PORT: String(ports.get(member)),
      MERIDIAN_DP_SERVER_INTERFACE: 'localhost',
    }),
    isQuiet: true,
  });
  [zone] = fleet.zones as [ControlPlane];
  ca = await readFile(join(zone.env['MERIDIAN_GENERAL_WORK_DIR'] ?? '', 'east/dp-server/cert.pem'), 'utf8');
});
afterAll(() => fleet.stop());

const port = (): number => ports.get('east') ?? 0;

async function bootstrap(body: object): Promise<{ status: number; body: string }> {
  const to = { host: 'localhost', port: port(), path: '/bootstrap', method: 'POST', ca, agent: false } as const;
  const sent = request({ ...to, headers: { 'content-type': 'application/json' } });
  sent.end(JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += String(part);
  return { status: response.statusCode ?? 0, body: text };
}

type Call = ClientDuplexStream<Buffer, Buffer>;

const clients: Client[] = [];
afterAll(() => {
  for (const client of clients) client.close();
});

function dial(): Client {
  const channel = { 'grpc.use_local_subchannel_pool': 1 };
  const client = new Client(`localhost:${String(port())}`, credentials.createSsl(Buffer.from(ca)), channel);
  clients.push(client);
  return client;
}

/** A stream that asks for the clusters of a Dataplane. @param id of the node */
function open(token: string, id: string, { service = adsService.deltaAggregatedResources, client = dial() } = {}): Call {
  const metadata = new Metadata();
  metadata.set('authorization', token);
  const same = (bytes: Buffer): Buffer => bytes;
  const call = client.makeBidiStreamRequest(service.path, same, same, metadata);
  call.on('error', () => undefined);
  const first = { responseNonce: '', errorDetail: null, subscribe: [], unsubscribe: [], initialResourceVersions: new Map() };
  call.write(encodeDeltaRequest({ ...first, node: { id }, typeUrl: 'type.googleapis.com/envoy.config.cluster.v3.Cluster' }));
  return call;
}

async function ending(call: Call): Promise<StatusObject> {
  call.resume();
  return await new Promise((resolve) => call.once('status', resolve));
}

async function issue(claims: object): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${String(zone.api)}/tokens/dataplane`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mesh: 'default', validFor: '1h', ...claims }),
  });
  return await answer.text();
}

async function fingerprint(): Promise<string> {
  const socket = connect({ host: 'localhost', port: port(), ca });
  await once(socket, 'secureConnect');
  const shown = socket.getPeerX509Certificate()?.fingerprint256 ?? '';
  socket.destroy();
  return shown;
}

it('gives a proxy of a stored Dataplane its bootstrap, with the certificate that the zone keeps', async () => {
  await expect.poll(() => issue({ name: 'cart-1' }), WAIT).toMatch(/^[^.]+\.[^.]+\.[^.]+$/);
  const asked = { mesh: 'default', name: 'cart-1', dataplaneToken: await issue({ name: 'cart-1' }), workdir: '/run/cart' };
  expect((await bootstrap(asked)).status).toBe(404);
  const networking = { address: '127.1.0.1', inbound: [{ port: 8080 }] };
  const dataplane = { type: 'Dataplane', mesh: 'default', name: 'cart-1', networking };
  await expect.poll(() => zone.put('/meshes/default/dataplanes/cart-1', dataplane), WAIT).toBeLessThan(300);
  const answer = await bootstrap(asked);
  expect(answer.status).toBe(200);
  const { bootstrap: text } = JSON.parse(answer.body) as { bootstrap: string };
  const config = Buffer.from(text, 'base64').toString();
  expect(config).toContain(Buffer.from(ca).toString('base64'));
  expect(config).toContain(`"address":"localhost","portValue":${String(port())}`);
});

it('refuses state-of-the-world xDS', async () => {
  const ended = await ending(open('a.b.c', 'default.cart-1', { service: adsService.streamAggregatedResources }));
  expect([ended.code, ended.details]).toEqual([status.UNIMPLEMENTED, expect.stringContaining('DELTA_GRPC')]);
});

it.each([
  ['a text that is no token', async () => 'a.b.c', 'default.cart-1', status.UNAUTHENTICATED],
  ['the token of another', () => issue({ name: 'cart-2' }), 'default.cart-1', status.PERMISSION_DENIED],
  ['no name', () => issue({}), 'default', status.INVALID_ARGUMENT],
  ['a name that no row can have', () => issue({}), 'default.cart\0', status.INVALID_ARGUMENT],
  ['a text that is no token, and the name of no Dataplane', async () => 'a.b.c', 'default.missing', status.UNAUTHENTICATED],
  [
    'the token of another, and the name of no Dataplane',
    () => issue({ name: 'cart-2' }),
    'default.missing',
    status.PERMISSION_DENIED,
  ],
  ['the name of no Dataplane', () => issue({}), 'default.missing', status.NOT_FOUND],
])('refuses a proxy with %s', async (_, tokenOf, id, code) => {
  const ended = await ending(open(await tokenOf(), id));
  expect([status[ended.code], ended.details]).toEqual([status[code], expect.stringMatching(/./)]);
});

it('serves a proxy while its address makes many calls that are refused, and sends it away when its token is revoked', async () => {
  const refusals = (): number =>
    zone
      .lastWords()
      .split('\n')
      .filter((line) => line.includes('a proxy was not let in')).length;
  const before = refusals();
  const token = await issue({ name: 'cart-1' });
  const proxy = open(token, 'default.cart-1');
  await once(proxy, 'data');
  let hasEnded = false;
  const ended = ending(proxy).then((end) => {
    hasEnded = true;
    return end;
  });
  const strangers = Array.from({ length: 10 }, () => dial());
  const refused = Array.from({ length: 300 }, (_, n) =>
    ending(open('a.b.c', 'default.cart-1', { client: strangers[n % 10] ?? dial() })),
  );
  await Promise.race(refused);
  expect([await zone.ready(), hasEnded]).toEqual([200, false]);
  for (const client of strangers) client.close();
  const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { jti: string };
  const data = Buffer.from(jti).toString('base64');
  const revocations = { type: 'Secret', mesh: 'default', name: 'dataplane-token-revocations-default', data };
  expect(await fleet.global.put('/meshes/default/secrets/dataplane-token-revocations-default', revocations)).toBeLessThan(300);
  const { code, details } = await ended;
  expect([code, details]).toEqual([status.UNAUTHENTICATED, expect.stringContaining('was revoked')]);
  // One line for each reason.
  expect(refusals() - before).toBeLessThan(5);
});

it('shows the same certificate after a restart', async () => {
  const { fingerprint256 } = new X509Certificate(ca);
  // The refused calls of the test before may have spent what this address has: its connections wait, or are closed.
  await expect.poll(fingerprint, WAIT).toBe(fingerprint256);
  await zone.end('SIGTERM');
  zone.start();
  await expect.poll(() => zone.ready(), WAIT).toBe(200);
  await expect.poll(fingerprint, WAIT).toBe(fingerprint256);
});

it('is not there on global', async () => {
  const socket = connectTcp(ports.get('global') ?? 0, '127.0.0.1');
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
});
