// What a listener for UDP does with messages that no ordinary socket sends.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:dgram';
import { encode } from 'dns-packet';
import { expect, it, onTestFinished } from 'vitest';
import { listenUdp } from './udp-listener.ts';

it('leaves a message without a source port unanswered', async () => {
  const sockets: Socket[] = [];
  const note = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
  subscribe('udp.socket', note);
  onTestFinished(() => void unsubscribe('udp.socket', note));
  const asked: Buffer[] = [];
  const answer = (message: Buffer): Buffer => {
    asked.push(message);
    return message;
  };
  const listener = await listenUdp('127.0.0.1', 0, { answer });
  onTestFinished(async () => await listener.close());
  const query = encode({ id: 1, questions: [{ type: 'A', class: 'IN', name: 'cart.svc.mesh.local' }] });
  const from = { address: '127.0.0.1', family: 'IPv4', port: 0, size: query.length };
  expect(sockets.map((socket) => socket.emit('message', query, from))).toEqual([true]);
  expect(asked).toEqual([]);
});
