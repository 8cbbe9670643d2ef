// The start of a control plane on a PostgreSQL that does not answer.
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import type { Clock } from '../base/clock.ts';
import { createLogger } from '../base/log.ts';
import { openStore } from './open-store.ts';

it('a start waits 15 seconds for the database with a pause of 250 ms, says so once, and fails with its address', async () => {
  // Nothing listens on this port any more.
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  const log = createLogger('silent');
  const warn = vi.spyOn(log, 'warn');
  let elapsed = 1_000;
  const pauses: number[] = [];
  const clock: Clock = {
    now: () => new Date(0),
    elapsed: () => elapsed,
    sleep: async (ms) => {
      pauses.push(ms);
      elapsed += ms;
    },
    after: () => () => undefined,
  };
  const tls = { mode: 'disable', certPath: '', keyPath: '', caPath: '' } as const;
  const config = { host: '127.0.0.1', port, user: 'u', password: '', dbName: 'd', maxOpenConnections: 2, connectionTimeout: 5 };
  await expect(openStore({ type: 'postgres', ...config, tls }, { clock, log })).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(`^cannot use PostgreSQL at 127.0.0.1:${String(port)}/d: `) as unknown,
  });
  expect(new Set(pauses)).toEqual(new Set([250]));
  expect(elapsed).toBe(1_000 + 15_250);
  expect(warn).toHaveBeenCalledOnce();
});
