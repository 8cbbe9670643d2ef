// Connections to a port of this machine, for the tests of them.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { systemClock, type Clock } from '../base/clock.ts';
import { createLogger } from '../base/log.ts';
import { Connections, DEFAULT_CONNECTION_LIMITS, type ConnectionLimits } from './connections.ts';

export const log = createLogger('silent');

export function open(
  take: (socket: Socket) => void,
  limits: Partial<ConnectionLimits> = {},
  clock: Clock = systemClock,
): Connections {
  const all = { ...DEFAULT_CONNECTION_LIMITS, ...limits };
  const connections = new Connections({ limits: all, peers: 'zone', section: 'the.section', take, log, clock });
  onTestFinished(() => connections.close());
  return connections;
}

export type Listening = {
  readonly connections: Connections;
  readonly dial: () => Promise<Socket>;
  /** Dials, and waits until the connection is taken. */
  readonly enter: () => Promise<Socket>;
  readonly taken: Socket[];
};

export async function listen(limits: Partial<ConnectionLimits> = {}, clock: Clock = systemClock): Promise<Listening> {
  const taken: Socket[] = [];
  const take = (socket: Socket): void => void taken.push(socket.resume());
  const connections = open(take, limits, clock);
  const port = await connections.listen('127.0.0.1', 0);
  const dial = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
  const enter = async (): Promise<Socket> => {
    const count = taken.length + 1;
    const socket = await dial();
    await expect.poll(() => taken).toHaveLength(count);
    return socket;
  };
  return { connections, dial, enter, taken };
}

/** The peer of a dialled socket, as gRPC names it. */
export const peerOf = ({ localAddress, localPort }: Socket): string => `${String(localAddress)}:${String(localPort)}`;
