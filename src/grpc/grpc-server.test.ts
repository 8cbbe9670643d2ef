import type { Server } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { closeGrpcServer } from './grpc-server.ts';

/** Closes a server; what it does. @property ended calls back that all connections have ended */
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
