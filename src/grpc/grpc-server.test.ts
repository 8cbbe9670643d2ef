import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { createServer, type AddressInfo } from 'node:net';
import { ServerCredentials, type Server } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { systemClock } from '../base/clock.ts';
import { closeGrpcServer, GrpcServer } from './grpc-server.ts';

/** Closes a server, and records its steps. @property ended calls back that all connections have ended */
function closing(): { clock: ManualClock; steps: string[]; ended: () => void } {
  const clock = new ManualClock();
  const steps: string[] = [];
  let ended = (): void => undefined;
  const server: Pick<Server, 'tryShutdown' | 'forceShutdown'> = {
    tryShutdown: (callback) => {
      steps.push('waits');
      ended = () => callback();
    },
    forceShutdown: () => void steps.push('ends all'),
  };
  void closeGrpcServer(server as Server, clock).then(() => steps.push('is closed'));
  return { clock, steps, ended: () => ended() };
}

it('a server that closes waits for its connections', async () => {
  const { clock, steps, ended } = closing();
  await clock.advance(500);
  expect(steps).toEqual(['waits']);
  ended();
  await clock.advance(1_000);
  expect(steps).toEqual(['waits', 'is closed']);
});

it('a server that closes ends its connections after a second', async () => {
  const { clock, steps } = closing();
  await clock.advance(999);
  expect(steps).toEqual(['waits']);
  await clock.advance(1);
  await clock.advance(0);
  expect(steps).toEqual(['waits', 'ends all', 'is closed']);
});

/** The streams that a connection may have. */
async function streamsOf(streams: number, hasWaited: boolean): Promise<number | undefined> {
  const limits = { streams, idleTimeout: 10_000 };
  const credentials = ServerCredentials.createInsecure();
  const server = new GrpcServer({ maxMessageBytes: 1_024, pingInterval: 10_000, limits, credentials });
  const port = createServer((socket) => server.take(socket, hasWaited)).listen(0, '127.0.0.1');
  await once(port, 'listening');
  const session = connectHttp2(`http://127.0.0.1:${String((port.address() as AddressInfo).port)}`);
  onTestFinished(async () => {
    session.destroy();
    port.close();
    await server.close(systemClock);
  });
  await once(session, 'remoteSettings');
  return session.remoteSettings.maxConcurrentStreams;
}

it.each([
  [100, false, 100],
  [100, true, 8],
  [4, true, 4],
])('of %d streams a connection that waited for a permit (%s) has %d', async (streams, hasWaited, has) => {
  expect(await streamsOf(streams, hasWaited)).toBe(has);
});
