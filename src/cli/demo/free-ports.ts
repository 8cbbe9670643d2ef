// Ports of 127.0.0.1 that are free.
import { createServer } from 'node:net';

/** Below the ephemeral range, because an outgoing connection could take one before its process starts, and below the NodePorts of Kubernetes. */
const FIRST = 28_000;
const SPAN = 2_000;
let next = FIRST + Math.floor(Math.random() * SPAN);

/** As many as asked for; none is given twice. */
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
