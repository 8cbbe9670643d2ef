// Messages of almost 10 MiB, the limit of both sides, and gzip messages, as every Kuma zone sends them.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { feature } from '../../src/kds/protocol/features.ts';
import { syncService } from '../../src/kds/protocol/services.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import type { Resource } from '../../src/resource/types.ts';
import { decodeDeltaRequest, encodeDeltaResponse, encodeResourceEntry, type DeltaRequest } from '../../src/wire/kds-messages.ts';
import { PlayedZone } from './played-zone.ts';
import { open, serverUnderAttack, SLOW } from './server-under-attack.ts';

const WAIT = { timeout: 90_000, interval: 10 };
const MIB = 1024 * 1024;
const GZIP = { 'grpc.default_compression_algorithm': 2 };
const spec = { targetRef: { kind: 'Mesh' }, a: 'x'.repeat(MIB) };

describe('a server', () => {
  const server = serverUnderAttack();
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0)) await cleanUp();
    for (const row of rowsOf('MeshRetry')) await server.store.write({ op: 'delete', key: row });
  });

  const rowsOf = (type: string): Resource[] => [...server.store.rows.values()].filter((row) => row.type === type);

  async function putLarge(name: string): Promise<void> {
    await server.store.write({ op: 'put', key: { type: 'MeshRetry', mesh: 'default', name }, labels: {}, spec });
  }

  function join(options: Record<string, number>): PlayedZone {
    const zone = new PlayedZone(server.dial(options), 'guest', [feature.hashSuffix]);
    cleanUps.push(() => zone.leave());
    return zone;
  }

  /** What global answers to one response of a zone with so many large resources. */
  async function answerTo(count: number, options: Record<string, number> = {}): Promise<DeltaRequest> {
    const entries = Array.from({ length: count }, (_, n) => {
      const name = hashName({ mesh: 'default', name: `t${String(n)}`, zone: 'guest' });
      const labels = { 'kuma.io/display-name': `t${String(n)}` };
      const kumaResource = encodeKumaResource(typeOf('MeshRetry'), { name, mesh: 'default', labels, spec, status: undefined });
      return encodeResourceEntry({ name: `${name}.default`, version: 'v', kumaResource });
    });
    const call = open(server.dial(options), syncService.zoneToGlobalSync, 'guest');
    cleanUps.push(() => call.cancel());
    return await new Promise((resolve, reject) => {
      call.on('status', ({ details }) => reject(new Error(details)));
      call.on('data', (bytes: Buffer) => {
        const request = decodeDeltaRequest(bytes);
        if (request.responseNonce !== '') resolve(request);
      });
      call.write(encodeDeltaResponse({ typeUrl: 'MeshRetry', nonce: '1', controlPlane: 'guest', entries, removed: [] }));
    });
  }

  it('sends a Kuma zone 9 MiB in one message, withholds 11 MiB, and reports its type and size', async () => {
    for (let n = 0; n < 9; n += 1) await putLarge(`t${String(n)}`);
    const zone = join({ 'grpc.max_receive_message_length': 10 * MIB });
    zone.subscribe('MeshRetry');
    expect((await zone.take()).resources).toHaveLength(9);
    zone.leave();
    for (const name of ['t9', 't10']) await putLarge(name);
    const withheld: string[] = [];
    server.observers.push((event) => void (event.kind === 'withheld' && event.all !== null && withheld.push(event.all)));
    cleanUps.push(() => server.observers.splice(0));
    const another = join({});
    another.subscribe('MeshRetry');
    await vi.waitFor(() => expect(withheld).toHaveLength(1), WAIT);
    expect(withheld[0]).toMatch(/^the state of type MeshRetry is 115\d{5} bytes, over the limit of 10485760 for one message/);
    // The stream lives, and brings what is not too large.
    another.subscribe('MeshTimeout');
    expect(await another.take()).toMatchObject({ typeUrl: 'MeshTimeout', resources: [{ name: SLOW }] });
  });

  it('accepts 9 MiB of a zone in one message, and refuses 11 MiB', async () => {
    expect(await answerTo(9)).toMatchObject({ responseNonce: '1', errorDetail: null });
    expect(rowsOf('MeshRetry')).toHaveLength(9);
    await expect(answerTo(11)).rejects.toThrow(/larger than max \(\d+ vs\.? 10485760\)/);
    expect(rowsOf('MeshRetry')).toHaveLength(9);
  });

  it('reads gzip messages of a zone, on both streams', async () => {
    const zone = join(GZIP);
    zone.subscribe('MeshTimeout');
    expect((await zone.take()).resources).toMatchObject([{ name: SLOW }]);
    expect(await answerTo(2, GZIP)).toMatchObject({ responseNonce: '1', errorDetail: null });
    expect(rowsOf('MeshRetry').map(({ spec: stored }) => stored)).toEqual([spec, spec]);
  });
});
