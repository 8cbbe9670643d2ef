// The headers of a zone's calls (kds-wire 2.1), read from the wire, because a gRPC client joins lines.
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readNodeMetadata } from '../../src/kds/protocol/node.ts';
import { globalService, syncService } from '../../src/kds/protocol/services.ts';
import { encodeKumaResource } from '../../src/resource/codec.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { typeOf } from '../../src/resource/type-registry.ts';
import { decodeDeltaRequest, encodeDeltaResponse, encodeResourceEntry, type DeltaRequest } from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';
import { connectZone } from './connected-zone.ts';
import { open, serverUnderAttack } from './server-under-attack.ts';

const WAIT = { timeout: 90_000, interval: 10 };
/** The wire name of the zone's `backend`. */
const HASHED = hashName({ mesh: 'default', name: 'backend', zone: 'east' });

describe('a zone', () => {
  const stop = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  afterEach(async () => {
    stop.abort();
    await running;
  });

  /** Ends a unary call with an empty message. */
  function answer(stream: ServerHttp2Stream): void {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.alloc(5));
  }

  /** A server that answers health checks and nothing else; keeps the header lines of each call, by path. */
  async function listen(): Promise<{ port: number; lines: Map<string, [name: string, value: string][]> }> {
    const lines = new Map<string, [name: string, value: string][]>();
    const server = createServer();
    server.on('stream', (stream, headers, _flags, raw) => {
      const path = headers[':path'] ?? '';
      const pairs = Array.from({ length: raw.length / 2 }, (_, n): [string, string] => [raw[2 * n] ?? '', raw[2 * n + 1] ?? '']);
      lines.set(path, pairs);
      stream.on('error', () => undefined);
      if (path === globalService.healthCheck.path) answer(stream);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stop.signal.addEventListener('abort', () => server.close());
    return { port: (server.address() as AddressInfo).port, lines };
  }

  it('sends its name and each of its features in separate headers, on all six calls', async () => {
    const { port, lines } = await listen();
    running = connectZone(new TinyStore(), port, stop.signal);
    const paths = [...Object.values(syncService), ...Object.values(globalService)].map(({ path }) => path);
    await vi.waitFor(() => expect([...lines.keys()].sort()).toEqual([...paths].sort()), WAIT);
    expect(lines.size).toBe(6);
    for (const [path, pairs] of lines) {
      const valuesOf = (name: string): string[] => pairs.filter(([line]) => line === name).map(([, value]) => value);
      expect(valuesOf('features'), path).toEqual([
        'zone-ping-health',
        'hash-suffix',
        'meridian-v1',
        'meridian-bundles',
        'meridian-in-step',
        'meridian-one-admin-stream',
      ]);
      expect(valuesOf('client-id'), path).toEqual(['east']);
    }
  });
});

describe('a global', () => {
  const server = serverUnderAttack();

  /** What global asks first on the stream of a zone with these lines, and the name under which it stores `backend` of it. */
  async function met(zone: string, lines: readonly string[]): Promise<{ resumes: boolean; storedName: string }> {
    const call = open(server.dial(), syncService.zoneToGlobalSync, zone, undefined, lines);
    const request = await new Promise<DeltaRequest>((resolve) =>
      call.once('data', (b: Buffer) => resolve(decodeDeltaRequest(b))),
    );
    const labels = { 'kuma.io/display-name': 'backend' };
    const row = { name: HASHED, mesh: 'default', labels, spec: {}, status: undefined };
    const kumaResource = encodeKumaResource(typeOf('MeshTimeout'), row);
    const entry = encodeResourceEntry({ name: `${HASHED}.default`, version: 'v', kumaResource });
    call.write(encodeDeltaResponse({ typeUrl: 'MeshTimeout', nonce: '1', controlPlane: zone, entries: [entry], removed: [] }));
    const isStored = ({ labels }: { labels: Record<string, string> }): boolean => labels['kuma.io/zone'] === zone;
    const stored = await vi.waitFor(() => {
      const found = [...server.store.rows.values()].find(isStored);
      return found ?? expect.fail('nothing is stored');
    }, WAIT);
    await server.store.write({ op: 'delete', key: stored });
    return { resumes: readNodeMetadata(request.node.metadata ?? new Uint8Array()).resumes, storedName: stored.name };
  }

  it.each([
    ['separate lines', ['zone-ping-health', 'hash-suffix', 'meridian-v1']],
    ['one line, joined by commas', ['zone-ping-health,hash-suffix,meridian-v1']],
    ['one line, joined as Node does', ['zone-ping-health, hash-suffix, meridian-v1']],
  ])('reads features from %s', async (_, lines) => {
    expect(await met('east', lines)).toEqual({ resumes: true, storedName: HASHED });
  });

  it('does not confuse a feature with one that contains its name', async () => {
    expect(await met('east', ['no-hash-suffix', 'meridian-v10'])).toEqual({ resumes: false, storedName: `east.${HASHED}` });
  });
});
