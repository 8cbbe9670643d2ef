// Ports of 127.0.0.1 that are free.
import { createServer } from 'node:net';

/**
 * The first port is below the ephemeral range, because an outgoing connection could take a port before its process starts. It is
 * also below the NodePorts of Kubernetes.
 */
const FIRST = 28_000;
const SPAN = 2_000;
let next = FIRST + Math.floor(Math.random() * SPAN);

/** Finds this number of free ports. None is given twice. */
export async function findFreePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) {
    next = next + 1 >= FIRST + SPAN ? FIRST : next + 1;
    if (await isFree(next)) found.push(next);
  }
  return found;
}

export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
