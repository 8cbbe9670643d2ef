import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { isSilent } from './silent-port.ts';

/** Listens with room for one connection, and accepts none until it is woken: the kernel then drops what asks for a connection. */
const DEAF = `
  const { createServer } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  const server = createServer(() => undefined);
  server.listen({ port: workerData.port, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage('listening');
    setImmediate(() => Atomics.wait(new Int32Array(workerData.wake), 0, 0));
  });
`;

describe('a port', () => {
  const sockets: Socket[] = [];
  let worker: Worker | null = null;

  afterEach(async () => {
    vi.unstubAllEnvs();
    for (const socket of sockets.splice(0)) socket.destroy();
    await worker?.terminate();
    worker = null;
  });

  /** A port that drops what asks for a connection. @returns a function that closes it */
  async function deafPort(): Promise<{ port: number; wake: () => void }> {
    const port = await freePort();
    const wake = new SharedArrayBuffer(4);
    worker = new Worker(DEAF, { eval: true, workerData: { port, wake } });
    await new Promise((resolve) => worker?.once('message', resolve));
    // These are more connections than the backlog.
    for (let index = 0; index < 4; index += 1) sockets.push(connect(port, '127.0.0.1').on('error', () => undefined));
    return {
      port,
      wake: () => {
        Atomics.store(new Int32Array(wake), 0, 1);
        Atomics.notify(new Int32Array(wake), 0);
      },
    };
  }

  const ask = (port: number, signal = new AbortController().signal): Promise<boolean> =>
    isSilent(`127.0.0.1:${String(port)}`, systemClock, signal);

  it('is silent while it answers nothing, and not any more as soon as it does', async () => {
    const { port, wake } = await deafPort();
    await expect.poll(() => ask(port)).toBe(true);
    wake();
    await expect.poll(() => ask(port)).toBe(false);
  });

  it('is not silent when it refuses connections, or when its host has no address', async () => {
    expect(await ask(await freePort())).toBe(false);
    expect(await isSilent('no-such-host.invalid:5685', systemClock, new AbortController().signal)).toBe(false);
    expect(await isSilent(`[::1]:${String(await freePort())}`, systemClock, new AbortController().signal)).toBe(false);
  });

  it('is not asked where gRPC dials a proxy', async () => {
    const { port } = await deafPort();
    vi.stubEnv('https_proxy', 'http://proxy.example:3128');
    expect(await ask(port)).toBe(false);
  });

  it('is no longer asked when the signal aborts', async () => {
    const { port } = await deafPort();
    expect(await ask(port, AbortSignal.abort())).toBe(false);
  });
});
