import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { accessLogPipeIn, forwardAccessLogs } from './access-log-forwarder.ts';

async function setUp() {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-logs-'));
  const path = accessLogPipeIn(folder, { mesh: 'shop', name: 'cart-1' });
  const logged: string[] = [];
  const clock = new ManualClock();
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  const forwarding = await forwardAccessLogs(path, { clock, log });
  let all = '';
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('data', (part) => (all += part.toString())).on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  onTestFinished(async () => {
    await forwarding?.close();
    expect(await readdir(folder)).toEqual([]);
    for (const socket of sockets) socket.destroy();
    server.close();
    await rm(folder, { recursive: true });
  });
  /** As each Envoy does: it opens the pipe by its name. */
  const write = (line: unknown): void => appendFileSync(path, `${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
  return { address, write, sockets, logged, clock, text: () => all };
}

it('sends texts and objects to the address of each line, and drops lines that name none', async () => {
  const { address, write, sockets, text } = await setUp();
  for (const line of ['', 'no JSON', '[]', {}, { address: 'nowhere' }, { address: '127.0.0.1:99999', message: 'a' }]) write(line);
  write({ address, message: 'a line\n' });
  write({ address, message: { code: 200 } });
  await expect.poll(text).toBe('a line\n{"code":200}\n');
  expect(sockets).toHaveLength(1);
});

it.each(['\u2028', '\u2029'])('forwards a request whose header has a Unicode line separator, case %#', async (separator) => {
  const { address, write, text } = await setUp();
  for (const message of ['first\n', `agent ${separator} of a client\n`, 'last\n']) write({ address, message });
  await expect.poll(text).toContain('last');
  expect(text()).toBe(`first\nagent ${separator} of a client\nlast\n`);
});

it('says that lines are lost while their receiver is away, and connects again', async () => {
  const { address, write, sockets, logged, clock, text } = await setUp();
  write({ address, message: 'first\n' });
  await expect.poll(text).toBe('first\n');
  sockets[0]?.destroy();
  await expect.poll(() => logged.join('')).toContain('access logs are lost');
  await clock.advance(1_000);
  await expect.poll(() => (write({ address, message: 'again\n' }), text())).toContain('again');
});

it('says that there is no pipe for a name that is too long for a file', async () => {
  const path = accessLogPipeIn(tmpdir(), { mesh: 'shop', name: 'x'.repeat(240) });
  const logged: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  expect(await forwardAccessLogs(path, { clock: new ManualClock(), log })).toBeNull();
  expect(logged.join('')).toContain('access logs to TCP addresses are left out');
});
