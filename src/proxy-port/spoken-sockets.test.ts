import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { whenSpoken } from './spoken-sockets.ts';

const SILENCE_MS = 1_000;
const clock = new ManualClock();
let server: Server;
let accepted: Promise<Socket>;
let taken: Socket[];
let client: Socket;

beforeEach(async () => {
  taken = [];
  const first = Promise.withResolvers<Socket>();
  accepted = first.promise;
  server = createServer((socket) => {
    whenSpoken(socket, SILENCE_MS, clock, (spoken) => taken.push(spoken));
    first.resolve(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
});
afterEach(() => {
  client.destroy();
  server.close();
});

it('a socket is handed on once, with its first bytes unread', async () => {
  const socket = await accepted;
  expect(taken).toEqual([]);
  client.write('hello');
  await expect.poll(() => taken).toEqual([socket]);
  client.write(' again');
  await expect.poll(() => socket.readableLength).toBe(11);
  expect(taken).toEqual([socket]);
  await clock.advance(2 * SILENCE_MS);
  expect(socket.destroyed).toBe(false);
  socket.destroy();
});

it('a silent socket is closed in time', async () => {
  const socket = await accepted;
  await clock.advance(SILENCE_MS - 1);
  expect(socket.destroyed).toBe(false);
  await clock.advance(1);
  expect(socket.destroyed).toBe(true);
  expect(taken).toEqual([]);
});

it('a socket that ends without a byte is closed', async () => {
  const socket = await accepted;
  client.end();
  await once(socket, 'close');
  expect(taken).toEqual([]);
});
