// A port for a process that starts soon. The system does not pick it, because it could give the same port to another connection before
// the process binds it.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ports of a demo (`src/cli/demo/free-ports.ts`) and the ephemeral ones; each worker of the test run has its own range. Another
 * run begins elsewhere in it; runs that are beside each other have TEST_PORT_RANGE, the number of the range before that of their first
 * worker.
 */
const FIRST = 10_000;
const SPAN = 1_000;
const SPANS = 18;

const range = Number(process.env['TEST_PORT_RANGE'] ?? 0) + Number(process.env['VITEST_POOL_ID'] ?? 0);
const start = FIRST + (range % SPANS) * SPAN;
let given = randomInt(SPAN);

/** A free port of 127.0.0.1. No other caller gets it for a long time. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < SPAN; attempt += 1) {
    given = (given + 1) % SPAN;
    // Another call may get the next one meanwhile.
    const port = start + given;
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${String(start)} to ${String(start + SPAN - 1)} is free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)));
  });
}
