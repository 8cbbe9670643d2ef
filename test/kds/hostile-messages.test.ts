// Messages that cannot be decoded, are too large, or request something impossible: the stream ends with a gRPC status, or is answered.
import { status } from '@grpc/grpc-js';
import { fc } from '../support/property.ts';
import { describe, expect, it, vi } from 'vitest';
import { syncService } from '../../src/kds/protocol/services.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import {
  decodeDeltaRequest,
  decodeDeltaResponse,
  encodeDeltaRequest,
  encodeDeltaResponse,
  encodeResourceEntry,
  type DeltaRequest,
} from '../../src/wire/kds-messages.ts';
import { firstRequest } from './first-request.ts';
import { mutated, requestBytes, responseBytes } from './mutated-frames.ts';
import { ending, open, serverUnderAttack, sync } from './server-under-attack.ts';

const MIB = 1024 * 1024;

const OTHER = hashName({ mesh: 'default', name: 'other', zone: 'east' });
const timeout = encodeKumaResource(typeOf('MeshTimeout'), {
  ...{ name: OTHER, mesh: 'default', labels: { 'kuma.io/display-name': 'other' }, spec: {}, status: undefined },
});

describe('a server with hostile peers', () => {
  const server = serverUnderAttack();

  it.each(sync)('ends %s with a status when a message is invalid', async (_, method) => {
    const client = server.dial();
    const reasons = (): number => server.logged.filter((line) => line.includes('cannot read a Delta')).length;
    for (const bytes of [Buffer.from('ffffffffff', 'hex'), Buffer.alloc(1_000, 0x0b), Buffer.from('GET / HTTP/1.1\r\n\r\n')]) {
      const call = open(client, method, 'east');
      const before = reasons();
      call.write(bytes);
      const { code, details } = await ending(call);
      expect([status[code], details]).toEqual([expect.stringMatching(/^(INTERNAL|INVALID_ARGUMENT)$/), expect.any(String)]);
      expect(details).toMatch(/^cannot read a Delta/);
      await vi.waitFor(() => expect(reasons()).toBeGreaterThan(before));
      expect(reasons(), 'lines of the log that say why').toBe(before + 1);
    }
  });

  it.each(sync)('survives mutated frames on %s', async (_, method) => {
    const client = server.dial();
    const recorded = method === syncService.globalToZoneSync ? requestBytes : responseBytes;
    // One zone may not open so many one after the other.
    let zones = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(mutated(recorded), { minLength: 1, maxLength: 4 }), async (messages) => {
        const call = open(client, method, `zone-${String((zones += 1))}`);
        for (const message of messages) call.write(message);
        call.end();
        expect(status[(await ending(call)).code]).not.toBe('DEADLINE_EXCEEDED');
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ['as it is', {}],
    ['that gzip makes small', { 'grpc.default_compression_algorithm': 2 }],
  ])('refuses a message of 100 MB %s', async (_, options) => {
    const client = server.dial({ ...options, 'grpc.max_send_message_length': -1 });
    for (const [, method] of sync) {
      const call = open(client, method, 'east');
      call.write(Buffer.alloc(100 * MIB));
      expect(status[(await ending(call)).code]).toBe('RESOURCE_EXHAUSTED');
    }
  });

  it('ends a stream with a status that fits into headers, for any length of an unknown type name', async () => {
    const call = open(server.dial(), syncService.zoneToGlobalSync, 'east');
    const message = { nonce: '1', controlPlane: 'east', entries: [], removed: [] };
    call.write(encodeDeltaResponse({ ...message, typeUrl: 'x'.repeat(MIB) }));
    const { code, details } = await ending(call);
    expect(status[code]).toMatch(/^(INTERNAL|INVALID_ARGUMENT)$/);
    expect(details).toContain('invalid resource type');
  });

  it('refuses 100,000 unreadable resources in one answer within the message limit', async () => {
    const call = open(server.dial(), syncService.zoneToGlobalSync, 'east');
    const entries = Array.from({ length: 100_000 }, (_, n) =>
      encodeResourceEntry({ name: `r${String(n)}.default`, version: '', kumaResource: Buffer.from([0xff]) }),
    );
    const answer = new Promise<DeltaRequest>((resolve, reject) => {
      call.on('data', (bytes: Buffer) => {
        const request = decodeDeltaRequest(bytes);
        if (request.responseNonce === '1') resolve(request);
      });
      call.once('status', ({ code, details }) => reject(new Error(`${status[code]}: ${details}`)));
    });
    call.write(encodeDeltaResponse({ typeUrl: 'MeshTimeout', nonce: '1', controlPlane: 'east', entries, removed: [] }));
    expect((await answer).errorDetail?.message).toMatch(/^user error\n/);
    call.cancel();
  });

  it('ends a stream with a status when the store fails', async () => {
    const entry = encodeResourceEntry({ name: `${OTHER}.default`, version: '', kumaResource: timeout });
    const call = open(server.dial(), syncService.zoneToGlobalSync, 'east');
    server.store.beforeWrite = ({ key }) => (key.type === 'MeshTimeout' ? Promise.reject(new Error('disk full')) : undefined);
    const answers: string[] = [];
    call.on('data', (bytes: Buffer) => answers.push(decodeDeltaRequest(bytes).responseNonce));
    call.write(encodeDeltaResponse({ typeUrl: 'MeshTimeout', nonce: '1', controlPlane: 'east', entries: [entry], removed: [] }));
    const { code, details } = await ending(call).finally(() => (server.store.beforeWrite = () => undefined));
    expect([status[code], details]).toEqual(['INTERNAL', 'disk full']);
    expect(answers).not.toContain('1');
  });

  it('gives an unknown type one empty answer, and no metric series', async () => {
    const call = open(server.dial(), syncService.globalToZoneSync, 'east');
    const answer = new Promise<Buffer>((resolve) => call.once('data', resolve));
    call.write(encodeDeltaRequest(firstRequest('NoSuchType')));
    const { typeUrl, resources: sent, removedResources } = decodeDeltaResponse(await answer);
    expect([typeUrl, sent, removedResources]).toEqual(['NoSuchType', [], []]);
    call.end();
    expect((await ending(call)).code).toBe(status.OK);
    expect(await server.registry.metrics()).not.toContain('NoSuchType');
  });
});
