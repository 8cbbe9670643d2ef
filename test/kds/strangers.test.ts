// Callers without a token: their connections are limited and closed, their calls cost little, and zones are still served.
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { Metadata, status, type Client } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { globalService, syncService } from '../../src/kds/protocol/services.ts';
import { NO_HEALTH_POLICY } from '../../src/kds/server/stale-streams.ts';
import { admitAll } from '../../src/kds/protocol/zone-access.ts';
import { SLOW, ending, open, serverUnderAttack, takenIn } from './server-under-attack.ts';

const PER_ADDRESS = 12;

let looks = 0;

/** Admits every zone but the stranger. */
const admit: typeof admitAll = async (authorization, zone) => {
  if (zone !== 'stranger') return await admitAll(authorization, zone);
  looks += 1;
  return { ok: false, reason: 'the token is not valid' };
};

describe('a server with unknown clients', () => {
  const server = serverUnderAttack(NO_HEALTH_POLICY, {
    connections: { perAddress: PER_ADDRESS, total: 100, streams: 100, idleTimeout: 200 },
    admit,
  });
  const sockets: Socket[] = [];

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  const dial = (): Socket => {
    const socket = connect(server.port, '127.0.0.1').resume();
    socket.on('error', () => undefined);
    sockets.push(socket);
    return socket;
  };

  it('closes connections without a stream, also silent ones, and none with a stream', async () => {
    const call = open(server.dial(), syncService.globalToZoneSync, 'east');
    await takenIn(call);
    let hasEnded = false;
    call.once('status', () => (hasEnded = true));
    const session = connectHttp2(`http://127.0.0.1:${String(server.port)}`);
    session.on('error', () => undefined);
    await Promise.all([once(session, 'close'), once(dial(), 'close'), once(dial(), 'close')]);
    expect(hasEnded).toBe(false);
    call.cancel();
  });

  it('refuses connections of one address over its limit at once', async () => {
    const call = open(server.dial(), syncService.globalToZoneSync, 'east');
    await takenIn(call);
    const closed = Array.from({ length: PER_ADDRESS * 4 }, () => once(dial(), 'close'));
    await Promise.all(closed);
    expect(await server.firstState()).toEqual([SLOW]);
    call.cancel();
  });

  it('handles few refused calls of an address, and serves a zone of the same address meanwhile', async () => {
    const call = open(server.dial(), syncService.globalToZoneSync, 'east', Infinity);
    await takenIn(call);
    looks = 0;
    const clients = Array.from({ length: 10 }, () => server.dial());
    const calls = Array.from({ length: 2_000 }, (_, n) =>
      ending(open(clients[n % 10] ?? server.dial(), syncService.globalToZoneSync, 'stranger', 90_000)),
    );
    const codes = new Set((await Promise.all(calls)).map(({ code }) => status[code]));
    expect(
      [...codes].every((code) =>
        ['UNAUTHENTICATED', 'RESOURCE_EXHAUSTED', 'UNAVAILABLE', 'CANCELLED', 'INTERNAL'].includes(code),
      ),
    ).toBe(true);
    expect(looks).toBeLessThan(500);
    expect(call.destroyed).toBe(false);
    call.cancel();
  });

  it('handles few refused health checks of an address', async () => {
    looks = 0;
    const clients = Array.from({ length: 10 }, () => server.dial());
    const metadata = new Metadata();
    metadata.set('client-id', 'stranger');
    const same = (bytes: Buffer): Buffer => bytes;
    const codeOf = async (client: Client): Promise<status> =>
      await new Promise((resolve) => {
        const limit = { deadline: Date.now() + 90_000 };
        client.makeUnaryRequest(globalService.healthCheck.path, same, same, Buffer.alloc(0), metadata, limit, (error) =>
          resolve(error?.code ?? status.OK),
        );
      });
    const checks = await Promise.all(Array.from({ length: 1_000 }, (_, n) => codeOf(clients[n % 10] ?? server.dial())));
    expect(checks).not.toContain(status.OK);
    expect(looks).toBeGreaterThan(0);
    expect(looks).toBeLessThan(500);
  });
});

describe('a server with callers that it refuses', () => {
  // A connection that waits for its turn has no stream: on a busy machine it would be closed for that.
  const server = serverUnderAttack(NO_HEALTH_POLICY, {
    connections: { perAddress: PER_ADDRESS, total: 100, streams: 100, idleTimeout: 60_000 },
    admit,
  });

  it('gives few streams to a connection that waits behind refused calls of its address', async () => {
    const clients = Array.from({ length: 8 }, () => server.dial());
    const refused = (count: number): Promise<unknown>[] =>
      Array.from({ length: count }, (_, n) =>
        ending(open(clients[n % 8] ?? server.dial(), syncService.globalToZoneSync, 'stranger', 90_000)),
      );
    await Promise.all(refused(100));
    const streams = async (): Promise<number | undefined> => {
      // The others of these calls wait when the connection comes.
      const waiting = refused(20);
      await Promise.race(waiting);
      const session = connectHttp2(`http://127.0.0.1:${String(server.port)}`);
      session.on('error', () => undefined);
      await Promise.race([once(session, 'remoteSettings'), once(session, 'close')]);
      session.destroy();
      await Promise.all(waiting);
      return session.remoteSettings.maxConcurrentStreams;
    };
    await expect.poll(streams, { timeout: 30_000 }).toBe(8);
  });
});
