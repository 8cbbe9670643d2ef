// What leaves a proxy to which connections are redirected, and what comes in.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer as createHttp2 } from 'node:http2';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { createServer as createTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSelfSigned } from '../../src/base/self-signed.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { freePort } from '../support/free-port.ts';
import { EnvoyMesh, type Proxy } from './envoy-mesh.ts';
import { onSocketFile, Redirected, withProxyLine, type Destination } from './redirected.ts';

const CLIENT = { kind: 'Dataplane', labels: { app: 'client' } };
const VIRTUAL = { address: '241.0.0.1', port: 80 };
const UNKNOWN = '503 No match of the MeshPassthrough of this proxy has this domain.\n';

/** Bytes that no proxy takes for the beginning of a request. */
const NO_HTTP = 'these are words, and no request\r\n\r\n';

let mesh: EnvoyMesh;
let client: Proxy;
let out: Redirected;
const servers: Server[] = [];
/** Applications outside of the mesh; all have one address. */
let web: Destination;
let web2: Destination;
let secure: Destination;
let mail: Destination;
let inbound: Destination;
/** The peer address of the last connection to the application of the inbound. */
let seenFrom: string | undefined;

async function listen(server: Server): Promise<Destination> {
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return { address: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

beforeAll(async () => {
  mesh = await EnvoyMesh.open('passthrough');
  web = { address: '127.0.0.1', port: (await mesh.application('web', 'http')).port };
  const { certPem: cert, keyPem: key } = await createSelfSigned('server', ['tls.example'], new Date());
  web2 = await listen(createHttp2((_, response) => response.end('web2')));
  secure = await listen(createTls({ cert, key }, (socket) => socket.end('secure')));
  mail = await listen(createServer((socket) => socket.on('error', () => undefined).end('220 mail')));
  const application = await listen(
    createServer((socket) => {
      seenFrom = socket.remoteAddress;
      socket.on('error', () => undefined).end('inside');
    }),
  );
  await mesh.endpoint('cart-1', { app: 'cart' });
  await mesh.service('cart', { app: 'cart' });
  inbound = { address: '127.0.0.1', port: await freePort() };
  client = await mesh.proxy('client', {
    labels: { app: 'client' },
    inbound: [{ name: 'main', port: inbound.port, servicePort: application.port, protocol: 'tcp' }],
    outbounds: [{ ...VIRTUAL, backendRef: { kind: 'MeshService', name: 'cart', port: 80 } }],
    listeners: {
      transparentProxying: {
        redirectPortInbound: await freePort(),
        redirectPortOutbound: await freePort(),
        ipFamilyMode: 'IPv4',
      },
    },
  });
  out = new Redirected(client.folder, 'outbound');
  const appendModifications = (['outbound', 'inbound'] as const).map((direction) => onSocketFile(client.folder, direction));
  const spec = { targetRef: CLIENT, default: { appendModifications } };
  await mesh.put('MeshProxyPatch', 'socket-file', { spec });
  await mesh.settle();
});
afterAll(async () => {
  await mesh.close();
  for (const server of servers) server.close();
});

/** @param conf of a MeshPassthrough; null: there is none */
async function permit(conf: JsonObject | null): Promise<void> {
  const isRead = conf?.['passthroughMode'] === 'Matched';
  const appendModifications = [withProxyLine('outbound', isRead), withProxyLine('inbound', false)];
  await mesh.policy('MeshProxyPatch', 'proxy-line', { targetRef: CLIENT, default: { appendModifications } });
  if (conf !== null) await mesh.policy('MeshPassthrough', 'permit', { targetRef: CLIENT, default: conf });
}
const matched = (...appendMatch: JsonObject[]): Promise<void> => permit({ passthroughMode: 'Matched', appendMatch });
const domain = (value: string, protocol: string, port?: number): JsonObject => ({
  ...{ type: 'Domain', value, protocol },
  ...(port !== undefined && { port }),
});

describe('a redirected connection', () => {
  it('goes where it was going, without a MeshPassthrough', async () => {
    await permit(null);
    expect(await out.say(mail)).toBe('220 mail');
    expect(await out.get(web, 'any.example')).toBe('200 web');
    expect(await out.sayTls(secure, 'any.example')).toBe('secure');
  });

  it.each([{ passthroughMode: 'None', appendMatch: [{ type: 'IP', value: '127.0.0.1' }] }, {}])(
    'leaves with %j to services of the mesh alone',
    async (conf) => {
      await permit(conf);
      expect(await out.get(VIRTUAL, 'cart')).toBe('200 cart-1');
      expect([await out.say(mail), await out.get(web, 'any.example')]).toEqual(['', '']);
      const refused = /^cluster\.self_transparentproxy_no_destination_outbound\.upstream_cx_none_healthy$/;
      expect(await client.sum(refused)).toBeGreaterThan(1);
    },
  );

  it('leaves to a domain by its host alone', async () => {
    await matched(domain('web.example', 'http'), domain('*.sub.example', 'http', web.port));
    expect(await out.get(web, 'web.example')).toBe('200 web');
    expect(await out.get(web, 'WEB.example:8080')).toBe('200 web');
    expect(await out.get(web, 'a.sub.example')).toBe('200 web');
    expect(await out.get(web, 'other.example')).toBe(UNKNOWN);
    expect(await out.get({ ...web, port: web2.port }, 'a.sub.example')).toBe(UNKNOWN);
    expect(await out.sayTls(secure, 'web.example')).toBe('');
    expect(await out.say(mail, NO_HTTP)).toBe('');
    const unmatched = /^listener\.self_transparentproxy_passthrough_outbound_ipv4\.no_filter_chain_match$/;
    expect(await client.sum(unmatched)).toBeGreaterThan(1);
  });

  it('keeps its version of HTTP, unless the match says HTTP/2', async () => {
    await matched(domain('web.example', 'http'), domain('web2.example', 'http2'));
    expect(await out.get2(web2, 'web.example')).toBe('200 web2');
    expect(await out.get(web2, 'web2.example')).toBe('200 web2');
    expect(await out.get2(web2, 'other.example')).toBe(UNKNOWN);
  });

  it('leaves with TLS by its server name', async () => {
    await matched(domain('tls.example', 'tls', secure.port), domain('*.wild.example', 'tls'));
    expect(await out.sayTls(secure, 'tls.example')).toBe('secure');
    expect(await out.sayTls(secure, 'a.wild.example')).toBe('secure');
    expect(await out.sayTls(secure, 'wild.example')).toBe('');
    expect(await out.sayTls({ ...secure, address: '127.0.0.2' }, 'other.example')).toBe('');
  });

  it('leaves to an address on the ports of its match', async () => {
    await matched(
      { type: 'CIDR', value: '127.0.0.0/8', port: web.port },
      { type: 'IP', value: '127.0.0.1', port: secure.port, protocol: 'tls' },
    );
    expect(await out.get(web, 'any.example')).toBe('200 web');
    expect(await out.sayTls(secure, 'any.example')).toBe('secure');
    expect(await out.say(secure, NO_HTTP)).toBe('');
    expect(await out.get2(web2, 'any.example')).toBe('');
  });

  it('leaves before the client speaks, to a port of protocol mysql', async () => {
    await matched({ type: 'IP', value: '127.0.0.1', port: mail.port, protocol: 'mysql' }, domain('web.example', 'http'));
    expect(await out.say(mail)).toBe('220 mail');
    expect(await out.get(web, 'web.example')).toBe('200 web');
  });

  it('has a line in the access log for all destinations', async () => {
    const path = join(client.folder, 'passthrough.log');
    const plain = '%KUMA_DESTINATION_SERVICE% %UPSTREAM_HOST%';
    const file = { path, format: { type: 'Plain', plain } };
    await mesh.policy('MeshAccessLog', 'log', {
      targetRef: CLIENT,
      to: [{ targetRef: { kind: 'Mesh' }, default: { backends: [{ type: 'File', file }] } }],
    });
    await permit(null);
    await out.say(mail);
    const log = (): Promise<string> => readFile(path, 'utf8').catch(() => '');
    await expect.poll(log).toContain(`passthrough ${mail.address}:${String(mail.port)}\n`);
  });

  it('comes to the inbound that it means, or to the application itself', async () => {
    await permit(null);
    const coming = new Redirected(client.folder, 'inbound');
    expect(await coming.say(inbound)).toBe('inside');
    expect(seenFrom).toBe('127.0.0.6');
    expect(await client.sum(/^tcp\.self_inbound_dp_main\.downstream_cx_total$/)).toBe(1);
    expect(await coming.say(mail)).toBe('220 mail');
  });
});
