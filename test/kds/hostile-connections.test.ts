// Clients without HTTP/2 or gRPC are refused.
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { describe, expect, it } from 'vitest';
import { syncService } from '../../src/kds/protocol/services.ts';
import { serverUnderAttack } from './server-under-attack.ts';

describe('a server with hostile peers', () => {
  const server = serverUnderAttack();

  it('closes connections that do not use HTTP/2', async () => {
    const tlsHello = Buffer.from('16030100a5010000a10303', 'hex');
    for (const bytes of [Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'), tlsHello, Buffer.alloc(64 * 1024, 0xff)]) {
      const socket = connectTcp(server.port, '127.0.0.1');
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.resume().write(bytes);
      await closed;
    }
  });

  it.each<[string, frame: string, encoding: string, code: RegExp]>([
    ['a length that never comes', '00000000ff01', 'identity', /^\d+$/],
    ['half a header', '0000', 'identity', /^\d+$/],
    ['a compression flag that does not exist', '0700000001ff', 'identity', /^(3|13)$/],
    ['gzip that is none', '010000000401020304', 'gzip', /^13$/],
    ['an encoding that does not exist', '010000000401020304', 'zip', /^12$/],
    ['a length of 4 GB', '00ffffffff01', 'identity', /^8$/],
  ])('ends a stream whose gRPC frame has %s', async (_, frame, encoding, code) => {
    const session = connectHttp2(`http://127.0.0.1:${String(server.port)}`);
    const stream = session.request({
      ':method': 'POST',
      ':path': syncService.globalToZoneSync.path,
      'content-type': 'application/grpc',
      'grpc-encoding': encoding,
      te: 'trailers',
      'client-id': 'east',
    });
    const answer = new Promise<unknown>((resolve, reject) => {
      const take = (headers: IncomingHttpHeaders): void => void ('grpc-status' in headers && resolve(headers['grpc-status']));
      stream.on('response', take).on('trailers', take).on('error', reject);
      session.on('error', reject);
    });
    stream.resume().end(Buffer.from(frame, 'hex'));
    try {
      expect(await answer).toMatch(code);
    } finally {
      session.destroy();
    }
  });
});
