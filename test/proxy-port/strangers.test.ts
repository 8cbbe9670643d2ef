// Callers that do not say who they are, or say it again and again: they are bounded, and a proxy is served meanwhile.
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { adsService } from '../../src/proxy-port/grpc-services.ts';
import { CART, ending, join, OpenPort } from './open-port.ts';

const PER_ADDRESS = 12;
/** A proxy must have said who it is before that, also on a busy machine. */
const IDLE_MS = 2_000;

const server = new OpenPort();
const sockets: Socket[] = [];
beforeAll(async () => {
  const limits = { perAddress: PER_ADDRESS, total: 100, streams: 50, idleTimeout: IDLE_MS };
  await server.start({ limits, readHeaderTimeout: 400 });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  // A proxy is served after all that.
  const call = server.stream(await server.token({ name: 'cart-1' }));
  await join(call, CART);
  call.end();
  expect((await ending(call)).code).toBe(status.OK);
});
afterAll(() => server.close());

function dial(): Socket {
  const socket = connect(server.port, '127.0.0.1').resume();
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

describe('a stranger', () => {
  it('is hung up on when it does not finish the TLS handshake, or speaks no TLS', async () => {
    const [silent, plain] = [dial(), dial()];
    plain.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await Promise.all([once(silent, 'close'), once(plain, 'close')]);
  });

  it('is hung up on when it says nothing after the handshake, or says it slowly', async () => {
    const quiet = (await server.connect()).resume();
    const quietHttp2 = (await server.connect({ ALPNProtocols: ['h2'] })).resume();
    const slow = (await server.connect()).resume();
    slow.write('POST /bootstrap HTTP/1.1\r\n');
    const drip = setInterval(() => slow.write('x: y\r\n'), 50);
    await Promise.all([quiet, quietHttp2, slow].map((socket) => once(socket, 'close')));
    clearInterval(drip);
  });

  it('is refused when it opens a stream and does not identify itself', async () => {
    const { code, details } = await ending(server.stream(await server.token()));
    expect([code, details]).toEqual([status.DEADLINE_EXCEEDED, 'the proxy did not identify itself in time']);
  });

  it('cannot have more connections than an address may', async () => {
    const stays = server.stream(await server.token());
    await join(stays);
    await Promise.all(Array.from({ length: PER_ADDRESS * 4 }, () => once(dial(), 'close')));
    await join(stays, { mesh: 'any', name: 'message' });
    stays.cancel();
  });

  it('cannot send a message of any size', async () => {
    const call = server.stream(await server.token());
    call.write(Buffer.alloc(5 * 1024 * 1024));
    expect((await ending(call)).code).toBe(status.RESOURCE_EXHAUSTED);
  });

  it('cannot send a request of any size', async () => {
    const answer = await server.bootstrap('x'.repeat(2 * 1024 * 1024)).catch(() => ({ status: 413 }));
    expect(answer.status).toBe(413);
  });

  it('makes few lines of log with many refused calls, and an admitted proxy does not wait for it', async () => {
    const stays = server.stream(await server.token());
    await join(stays);
    const before = server.logged.length;
    const clients = Array.from({ length: 6 }, () => server.dial());
    const calls = Array.from({ length: 250 }, (_, n) => {
      const service = n % 2 === 0 ? adsService.deltaAggregatedResources : adsService.streamAggregatedResources;
      const call = server.stream('forged', service, clients[n % 6]);
      call.write(Buffer.from(JSON.stringify(CART)));
      return ending(call);
    });
    await join(stays, { mesh: 'any', name: 'message' });
    const codes = new Set((await Promise.all(calls)).map(({ code }) => status[code]));
    const expected = ['UNAUTHENTICATED', 'UNIMPLEMENTED', 'RESOURCE_EXHAUSTED', 'UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED'];
    expect([...codes].filter((code) => !expected.includes(code ?? ''))).toEqual([]);
    expect(server.logged.length - before).toBeLessThan(10);
    stays.cancel();
  });

  it('has few streams on a connection that waits behind its refused calls', async () => {
    const clients = Array.from({ length: 8 }, () => server.dial());
    const refused = (count: number): Promise<unknown>[] =>
      Array.from({ length: count }, (_, n) => {
        const call = server.stream('forged', adsService.deltaAggregatedResources, clients[n % 8]);
        call.write(Buffer.from(JSON.stringify(CART)));
        return ending(call);
      });
    await Promise.all(refused(100));
    const streams = async (): Promise<number | undefined> => {
      // The others of these calls wait when the connection comes.
      const waiting = refused(20);
      await Promise.race(waiting);
      const session = connectHttp2(`https://localhost:${String(server.port)}`, { ca: server.certPem });
      session.on('error', () => undefined);
      await Promise.race([once(session, 'remoteSettings'), once(session, 'close')]);
      session.destroy();
      await Promise.all(waiting);
      return session.remoteSettings.maxConcurrentStreams;
    };
    await expect.poll(streams, { timeout: 30_000 }).toBe(8);
  });
});
