// A stream that ends before its first message is read stays ended, although the peer continues to send.
import { connect } from 'node:http2';
import { describe, expect, it, vi } from 'vitest';
import { syncService } from '../../src/kds/protocol/services.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { encodeDeltaResponse, encodeResourceEntry } from '../../src/wire/kds-messages.ts';
import { serverUnderAttack } from './server-under-attack.ts';

/** A message of gRPC with one MeshTimeout. */
function framed(name: string): Buffer {
  const resource = { name, mesh: 'default', labels: {}, spec: {}, status: undefined };
  const kumaResource = encodeKumaResource(typeOf('MeshTimeout'), resource);
  const entries = [encodeResourceEntry({ name: `${name}.default`, version: 'v', kumaResource })];
  const message = encodeDeltaResponse({ typeUrl: 'MeshTimeout', nonce: '1', controlPlane: 'late', entries, removed: [] });
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

describe('a server with a slow store while a stream opens', () => {
  const server = serverUnderAttack();

  it('stores nothing of a zone whose row was deleted meanwhile', async () => {
    const { store, logged } = server;
    const raised = Promise.withResolvers<number>();
    const acquireFencingToken = vi.spyOn(store, 'acquireFencingToken').mockReturnValueOnce(raised.promise);
    const session = connect(`http://127.0.0.1:${String(server.port)}`);
    const headers = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };
    const path = syncService.zoneToGlobalSync.path;
    const stream = session.request({ ...headers, ':path': path, 'client-id': 'late', features: 'hash-suffix' });
    stream.on('error', () => undefined);
    await vi.waitFor(() => expect(acquireFencingToken).toHaveBeenCalled());
    const trailers = new Promise((resolve) => stream.once('trailers', resolve).resume());
    await store.write({ op: 'delete', key: { type: 'Zone', mesh: '', name: 'late' } });
    await trailers;
    raised.resolve(1);
    stream.end(framed('too-late'));
    await vi.waitFor(() => expect(logged.join('')).toMatch(/"zone":"late".*stream closed/));
    expect([...store.rows.values()].map(({ name }) => name)).not.toContain('too-late');
    session.destroy();
  });
});
