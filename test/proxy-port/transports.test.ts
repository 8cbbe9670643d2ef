// One port for gRPC and HTTP/1.1, as real clients come to it.
import { once } from 'node:events';
import { connect as connectTcp, createServer, type AddressInfo } from 'node:net';
import { connect as connectHttp2, type ServerHttp2Stream } from 'node:http2';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adsService } from '../../src/proxy-port/grpc-services.ts';
import { CHUNK_BYTES, STREAMS, writeInChunks } from '../../src/proxy-port/chunked-writes.ts';
import { CART, ending, join, OpenPort } from './open-port.ts';

const server = new OpenPort();
const relays = new DisposableStack();
afterAll(() => relays.dispose());
beforeAll(async () => void (await server.start({ host: 'localhost' })));
afterAll(() => server.close());

/** An HTTP/1.1 request as bytes, answered by the status line. */
async function firstLine(socket: NodeJS.ReadWriteStream): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  return bytes.toString().split('\r\n')[0] ?? '';
}

/** A port that passes bytes on. @param seen gets all bytes of an answer so far */
async function relay(to: number, seen: (bytes: Buffer) => void): Promise<number> {
  const listener = createServer((client) => {
    const target = connectTcp(to, '127.0.0.1');
    let answer = Buffer.alloc(0);
    target.on('data', (bytes: Buffer) => {
      answer = Buffer.concat([answer, bytes]);
      seen(answer);
    });
    client.pipe(target).pipe(client);
    for (const socket of [client, target]) socket.on('error', () => undefined);
  });
  listener.unref().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  relays.defer(() => void listener.close());
  return (listener.address() as AddressInfo).port;
}

/** Bytes of each whole record of TLS, with its head. */
function sizesOfRecords(bytes: Buffer): number[] {
  const sizes: number[] = [];
  let at = 0;
  while (at + 5 <= bytes.length) {
    const size = 5 + bytes.readUInt16BE(at + 3);
    if (at + size <= bytes.length) sizes.push(size);
    at += size;
  }
  return sizes;
}

describe('the port for proxies', () => {
  it('speaks HTTP/1.1 with a client without ALPN, as the one of kuma-dp is', async () => {
    const socket = await server.connect();
    expect(socket.alpnProtocol).toBe(false);
    expect(await firstLine(socket)).toBe('HTTP/1.1 404 Not Found');
  });

  it('speaks HTTP/1.1 with a client that takes both', async () => {
    const socket = await server.connect({ ALPNProtocols: ['h2', 'http/1.1'] });
    expect(socket.alpnProtocol).toBe('http/1.1');
    expect(await firstLine(socket)).toBe('HTTP/1.1 404 Not Found');
  });

  it.each(['127.0.0.1', '::1'])('serves gRPC at %s', async (host) => {
    const call = server.stream(await server.token(), adsService.deltaAggregatedResources, server.dial(host));
    await join(call);
    call.end();
    expect((await ending(call)).code).toBe(status.OK);
  });

  it('serves gRPC over TLS 1.2, which Envoy speaks, and no older one', async () => {
    const socket = await server.connect({ ALPNProtocols: ['h2'], maxVersion: 'TLSv1.2' });
    expect([socket.getProtocol(), socket.alpnProtocol]).toEqual(['TLSv1.2', 'h2']);
    socket.destroy();
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await expect(server.connect(old)).rejects.toThrow(/version|protocol/i);
  });

  it('writes a large response in chunks, and as a whole', async () => {
    const sizes: number[] = [];
    const opened = (message: unknown): void => {
      const { stream } = message as { readonly stream: ServerHttp2Stream };
      const write = stream._write.bind(stream);
      Object.assign(stream, {
        _write(...args: Parameters<typeof write>) {
          sizes.push((args[0] as Buffer).length);
          write(...args);
        },
      });
    };
    // What is wrapped first is nearer to the connection.
    unsubscribe(STREAMS, writeInChunks);
    subscribe(STREAMS, opened);
    subscribe(STREAMS, writeInChunks);
    const call = server.stream(await server.token());
    await join(call);
    const echoed = once(call, 'data');
    const sent = Buffer.alloc(1024 * 1024, 'large');
    call.write(sent);
    const [received] = (await echoed) as [Buffer];
    expect(received.equals(sent)).toBe(true);
    expect(sizes.length).toBeGreaterThan(sent.length / CHUNK_BYTES);
    expect(Math.max(...sizes)).toBe(CHUNK_BYTES);
    unsubscribe(STREAMS, opened);
    call.end();
  });

  it('gives TLS the head of a response and its first chunk in one record', async () => {
    const records: number[] = [];
    const port = await relay(server.port, (bytes) => records.push(...sizesOfRecords(bytes)));
    const call = server.stream(await server.token(), adsService.deltaAggregatedResources, server.dial('127.0.0.1', port));
    const large = { ...CART, spec: { ...CART.spec, text: 'large'.repeat(20_000) } };
    await join(call, large);
    expect(Math.max(...records)).toBeGreaterThan(CHUNK_BYTES);
    expect(Math.max(...records)).toBeLessThanOrEqual(16_384);
    call.end();
  });

  it('refuses a request over HTTP/2 that is not gRPC', async () => {
    const session = connectHttp2(`https://localhost:${String(server.port)}`, { ca: server.certPem });
    const sent = session.request({ ':method': 'POST', ':path': '/bootstrap', 'content-type': 'application/json' });
    sent.end('{}');
    const [headers] = (await once(sent, 'response')) as [Record<string, unknown>];
    expect(headers[':status']).toBe(415);
    session.destroy();
  });

  it('refuses a protocol that it does not know', async () => {
    await expect(server.connect({ ALPNProtocols: ['spdy/3'] })).rejects.toThrow(/no application protocol/i);
  });

  it('refuses state-of-the-world xDS, with what to do', async () => {
    const { code, details } = await ending(server.stream(await server.token(), adsService.streamAggregatedResources));
    expect([code, details]).toEqual([status.UNIMPLEMENTED, expect.stringContaining('set api_type: DELTA_GRPC')]);
  });

  it.each([
    '/envoy.service.health.v3.HealthDiscoveryService/StreamHealthCheck',
    '/envoy.service.discovery.v3.AggregatedDiscoveryService/Other',
  ])('does not implement %s', async (path) => {
    expect((await ending(server.stream('', { path }))).code).toBe(status.UNIMPLEMENTED);
  });

  it('shows a renewed certificate to new connections, and keeps open streams', async () => {
    const call = server.stream(await server.token());
    await join(call);
    const before = (await server.connect()).getPeerX509Certificate()?.fingerprint256;
    server.certPem = await server.renew();
    expect((await server.connect()).getPeerX509Certificate()?.fingerprint256).not.toBe(before);
    const answer = once(call, 'data');
    call.write(Buffer.from('again'));
    expect(String((await answer)[0])).toBe('again');
    call.cancel();
  });
});
