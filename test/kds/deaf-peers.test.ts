// Peers that send without reading the answers: the memory for pending answers stays small.
import { connect, type ClientHttp2Stream } from 'node:http2';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { syncService } from '../../src/kds/protocol/services.ts';
import { encodeDeltaRequest, encodeDeltaResponse } from '../../src/wire/kds-messages.ts';
import { firstRequest } from './first-request.ts';
import { serverUnderAttack } from './server-under-attack.ts';

/** A message of gRPC: not compressed, its length, its bytes. */
function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

describe('a server with peers that do not read', () => {
  const server = serverUnderAttack();
  const hangUps: (() => void)[] = [];
  afterEach(() => {
    for (const hangUp of hangUps.splice(0)) hangUp();
  });

  /** A stream that reads no data. A gRPC client would read and buffer it. */
  function deaf({ path }: { path: string }, zone: string): ClientHttp2Stream {
    const session = connect(`http://127.0.0.1:${String(server.port)}`);
    hangUps.push(() => session.destroy());
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request({ ...headers, 'client-id': zone, features: 'hash-suffix' });
    stream.on('error', () => undefined);
    session.on('error', () => undefined);
    return stream;
  }

  const closed = (zone: string): Promise<string> =>
    vi.waitFor(() => {
      const line = server.logged.find((text) => text.includes(`"zone":"${zone}"`) && text.includes('stream closed'));
      return line ?? expect.fail(`the stream of ${zone} is open`);
    });

  it('queues few responses, for any number of new subscriptions', async () => {
    const key = { type: 'MeshRetry', mesh: 'default', name: 'large' };
    await server.store.write({ op: 'put', key, labels: {}, spec: { a: 'x'.repeat(300_000) } });
    const stream = deaf(syncService.globalToZoneSync, 'greedy');
    for (let i = 0; i < 300; i += 1) {
      stream.write(framed(encodeDeltaRequest(firstRequest('MeshRetry'))));
      await setImmediate();
    }
    stream.end();
    await closed('greedy');
    const sent = await server.registry.getSingleMetric('kds_delta_responses_sent')?.get();
    expect(sent?.values.find(({ labels }) => labels['type_url'] === 'MeshRetry')?.value).toBeLessThan(30);
  });

  it('ends the stream of a zone that sends responses and does not read the answers', async () => {
    const stream = deaf(syncService.zoneToGlobalSync, 'deaf');
    const response = { typeUrl: 'MeshTimeout', nonce: 'n'.repeat(1_000), controlPlane: 'deaf', entries: [], removed: [] };
    for (let i = 0; i < 2_000; i += 1) stream.write(framed(encodeDeltaResponse(response)));
    stream.end();
    expect(await closed('deaf')).toContain('does not read the answers');
  });
});
