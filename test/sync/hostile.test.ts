// Peers that lie, break the protocol or ask too much: decoders answer with a value or an Error, and the server with a gRPC
// status, and the next well-behaved zone gets its state all the same.
import { readFileSync } from 'node:fs';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { Client, credentials, Metadata, status, type ClientDuplexStream, type StatusObject } from '@grpc/grpc-js';
import fc from 'fast-check';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { sinkOf, sourceOf } from '../../src/control-plane/store-ports.ts';
import { StoreZoneRegistry } from '../../src/global/store-zone-registry.ts';
import { AdminStreams } from '../../src/kds/admin-streams.ts';
import { Changelog } from '../../src/kds/changelog.ts';
import { globalReceiveRules, globalSendRules } from '../../src/kds/rules.ts';
import { KdsServer } from '../../src/kds/server.ts';
import { globalService, syncService } from '../../src/kds/services.ts';
import { createSyncMetrics } from '../../src/kds/sync-metrics.ts';
import { decodeKumaResource, encodeKumaResource } from '../../src/resource/codec.ts';
import { hashName } from '../../src/resource/hash-name.ts';
import { resourceTypes, typeOf } from '../../src/resource/type-registry.ts';
import type { JsonObject } from '../../src/resource/types.ts';
import { validateResource } from '../../src/resource/validate-spec.ts';
import { createWriter, lengthTag } from '../../src/wire/fields.ts';
import {
  decodeDeltaRequest,
  decodeDeltaResponse,
  encodeDeltaRequest,
  encodeDeltaResponse,
  encodeResourceEntry,
  type DeltaRequest,
} from '../../src/wire/kds-messages.ts';
import { TinyStore } from '../support/tiny-store.ts';

const MIB = 1024 * 1024;
/** A server that has not answered by then never will. */
const ANSWER_MS = 15_000;

type Frame = { readonly message: 'DeltaDiscoveryRequest' | 'DeltaDiscoveryResponse'; readonly base64: string };

const lines = readFileSync(join(import.meta.dirname, '../vectors/kds-session.jsonl'), 'utf8')
  .trimEnd()
  .split('\n');
const frames = lines.map((line) => JSON.parse(line) as Frame | { event: string }).filter((line) => 'message' in line);
const bytesOf = ({ base64 }: Frame): Buffer => Buffer.from(base64, 'base64');
const requests = frames.filter(({ message }) => message === 'DeltaDiscoveryRequest').map(bytesOf);
const responses = frames.filter(({ message }) => message === 'DeltaDiscoveryResponse').map(bytesOf);
const resources = responses
  .map(decodeDeltaResponse)
  .flatMap((response) => response.resources.map(({ resource }) => Buffer.from(resource)));

/** Bytes of a recorded frame, cut, bent, doubled and mixed with another. */
function mutated(recorded: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const mutation = fc.oneof(
    fc.record({ do: fc.constant('set' as const), at: fc.nat(), byte: fc.nat(255) }),
    fc.record({ do: fc.constant('cut' as const), at: fc.nat() }),
    fc.record({ do: fc.constant('remove' as const), at: fc.nat(), length: fc.nat(40) }),
    fc.record({ do: fc.constant('insert' as const), at: fc.nat(), bytes: fc.uint8Array({ maxLength: 20 }) }),
    fc.record({ do: fc.constant('double' as const), at: fc.nat(), length: fc.nat(200) }),
    fc.record({ do: fc.constant('mix' as const), at: fc.nat(), other: fc.constantFrom(...recorded) }),
  );
  return fc.tuple(fc.constantFrom(...recorded), fc.array(mutation, { minLength: 1, maxLength: 8 })).map(([frame, mutations]) => {
    let bytes = Buffer.from(frame);
    for (const step of mutations) {
      const at = step.at % (bytes.length + 1);
      const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)];
      if (step.do === 'set') bytes = Buffer.concat([head, Buffer.from([step.byte]), tail.subarray(1)]);
      else if (step.do === 'cut') bytes = head;
      else if (step.do === 'remove') bytes = Buffer.concat([head, tail.subarray(step.length)]);
      else if (step.do === 'insert') bytes = Buffer.concat([head, step.bytes, tail]);
      else if (step.do === 'double') bytes = Buffer.concat([head, tail.subarray(0, step.length), tail]);
      else bytes = Buffer.concat([head, step.other.subarray(at)]);
    }
    return bytes;
  });
}

/** What a decoder returns, or null where it throws; anything thrown must be an Error with a sentence. */
function returned<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).not.toBe('');
    return null;
  }
}

const prototypeOf = (): unknown[] => [
  Object.getOwnPropertyNames(Object.prototype),
  Object.getOwnPropertyNames(Array.prototype),
  Object.getOwnPropertyNames(Map.prototype),
];
const untouched = prototypeOf();

describe('decoders of mutated frames', () => {
  afterEach(() => {
    expect(prototypeOf()).toEqual(untouched);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('return a request or throw an Error', () => {
    fc.assert(
      fc.property(mutated(requests), (bytes) => {
        const request = returned(() => decodeDeltaRequest(bytes));
        if (request === null) return;
        expect(request.typeUrl).toBeTypeOf('string');
        expect(decodeDeltaRequest(encodeDeltaRequest(request))).toEqual(request);
      }),
      { numRuns: 5_000 },
    );
  });

  it('return a response or throw an Error', () => {
    fc.assert(
      fc.property(mutated(responses), (bytes) => {
        const response = returned(() => decodeDeltaResponse(bytes));
        if (response === null) return;
        for (const { name, version, resource } of response.resources) {
          expect([typeof name, typeof version]).toEqual(['string', 'string']);
          expect(resource).toBeInstanceOf(Uint8Array);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  it('return a resource that can be sent on, or throw an Error, whatever type it is read as', () => {
    fc.assert(
      fc.property(mutated(resources), fc.constantFrom(...resourceTypes), (bytes, info) => {
        const resource = returned(() => decodeKumaResource(info, bytes));
        if (resource === null) return;
        expect(decodeKumaResource(info, encodeKumaResource(info, resource))).toEqual(resource);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['a request', (bytes: Uint8Array) => decodeDeltaRequest(bytes)],
    ['a response', (bytes: Uint8Array) => decodeDeltaResponse(bytes)],
    ['a resource', (bytes: Uint8Array) => decodeKumaResource(typeOf('Dataplane'), bytes)],
  ] as const)('return %s or throw an Error for bytes of any kind', (_, decode) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void returned(() => decode(bytes))),
      { numRuns: 3_000 },
    );
  });

  it('throw an Error for groups within groups, and do not exhaust the stack', () => {
    const groups = Buffer.alloc(2 * MIB, 0x0b);
    for (const decode of [decodeDeltaRequest, decodeDeltaResponse]) expect(returned(() => decode(groups))).toBeNull();
    expect(returned(() => decodeKumaResource(typeOf('Dataplane'), groups))).toBeNull();
  });

  it('throw an Error for JSON nested 100,000 deep', () => {
    const info = typeOf('MeshTimeout');
    const ofSpec = (text: string): Buffer => lengthDelimited(2, lengthDelimited(2, Buffer.from(text)));
    expect(decodeKumaResource(info, ofSpec('{"a":[[]]}')).spec).toEqual({ a: [[]] });
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(returned(() => decodeKumaResource(info, ofSpec(deep)))).toBeNull();
  });

  it('keep __proto__ as a key like any other, through the rules too', () => {
    const evil = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}') as JsonObject;
    const labels = JSON.parse('{"__proto__":"polluted"}') as Record<string, string>;
    const tags = JSON.parse('{"__proto__":"polluted","kuma.io/zone":"west"}') as JsonObject;
    const request: DeltaRequest = { ...FIRST, node: { id: 'east', metadata: evil } };
    expect(Object.keys(decodeDeltaRequest(encodeDeltaRequest(request)).node.metadata ?? {}).sort()).toEqual(
      ['__proto__', 'constructor'].sort(),
    );
    const dataplane = { networking: { address: '10.0.0.1', gateway: { tags } } };
    for (const [type, spec] of [
      ['MeshTimeout', evil],
      ['Dataplane', dataplane],
    ] as const) {
      const info = typeOf(type);
      const sent = encodeKumaResource(info, { name: 'x', mesh: 'default', labels, spec, status: undefined });
      const taken = globalReceiveRules('east', { hashedNames: true }).rewrite(decodeKumaResource(info, sent), info);
      expect(Object.keys(taken.labels)).toContain('__proto__');
      expect(JSON.stringify(taken.spec)).toContain('"__proto__"');
    }
  });
});

function lengthDelimited(field: number, value: Uint8Array): Buffer {
  return Buffer.from(createWriter().uint32(lengthTag(field)).bytes(value).finish());
}

const SLOW = `${hashName({ mesh: 'default', name: 'slow' })}.default`;
const FIRST: DeltaRequest = {
  node: { id: 'east', metadata: { features: ['hash-suffix'] } },
  typeUrl: 'MeshTimeout',
  subscribe: ['*'],
  unsubscribe: [],
  initialResourceVersions: new Map(),
  responseNonce: '',
  errorDetail: null,
};

const timeout = encodeKumaResource(typeOf('MeshTimeout'), {
  ...{ name: 'other', mesh: 'default', labels: {}, spec: {}, status: undefined },
});

type Call = ClientDuplexStream<Buffer, Buffer>;

describe('a server of hostile peers', () => {
  const stop = new AbortController();
  const clients: Client[] = [];
  const running: Promise<void>[] = [];
  const store = new TinyStore();
  const registry = new Registry();
  const logged: string[] = [];
  const healthChecks: string[] = [];
  let server: KdsServer;
  let port = 0;

  beforeAll(async () => {
    const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(line) });
    await store.write({ op: 'put', key: { type: 'MeshTimeout', mesh: 'default', name: 'slow' }, labels: {}, spec: {} });
    const metrics = createSyncMetrics({ registry, side: { mode: 'global' } });
    const zones = new StoreZoneRegistry(store);
    const changelog = new Changelog(sourceOf(store), globalSendRules(), log);
    running.push(zones.run(stop.signal), changelog.run(stop.signal));
    await Promise.all([changelog.ready, zones.loaded]);
    server = new KdsServer({
      host: '127.0.0.1',
      port: 0,
      tls: null,
      maxMessageBytes: 10 * MIB,
      node: { version: '0', instanceId: 'global-1', config: '' },
      changelog,
      zones,
      admin: new AdminStreams(),
      sinkOf: (zone) => sinkOf(store, zone),
      validate: validateResource,
      observe(event) {
        metrics.observe(event);
        if (event.kind === 'healthCheck') healthChecks.push(event.peer);
      },
      log,
    });
    port = await server.listen();
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    expect(await firstState()).toEqual([SLOW]);
    for (const client of clients.splice(0)) client.close();
    // Nothing is kept for streams that are gone.
    await vi.waitFor(() => expect([...server.behind()]).toEqual([]));
  });

  afterAll(async () => {
    await server.close();
    stop.abort();
    await Promise.all(running);
  });

  function dial(options: Record<string, number> = {}): Client {
    const client = new Client(`127.0.0.1:${String(port)}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
      ...options,
    });
    clients.push(client);
    return client;
  }

  /** A stream as `zone`; without a name the header is missing. A server that says nothing shows as DEADLINE_EXCEEDED. */
  function open(client: Client, method: { path: string }, zone: string | undefined, limitMs = ANSWER_MS): Call {
    const metadata = new Metadata();
    if (zone !== undefined) metadata.set('client-id', zone);
    metadata.set('features', 'hash-suffix');
    const same = (bytes: Buffer): Buffer => bytes;
    const call = client.makeBidiStreamRequest(method.path, same, same, metadata, { deadline: Date.now() + limitMs });
    call.on('error', () => undefined);
    return call;
  }

  /** How a stream ends; what comes before is read and dropped. */
  async function ending(call: Call): Promise<StatusObject> {
    call.resume();
    return await new Promise((resolve) => call.once('status', resolve));
  }

  /** What a zone that keeps to the protocol is sent of MeshTimeout. */
  async function firstState(zone = 'well-behaved'): Promise<string[]> {
    const call = open(dial(), syncService.globalToZoneSync, zone);
    const answer = new Promise<Buffer>((resolve, reject) => {
      call.once('data', resolve);
      call.once('status', ({ code, details }) => reject(new Error(`${status[code]}: ${details}`)));
    });
    call.write(encodeDeltaRequest({ ...FIRST, node: { ...FIRST.node, id: zone } }));
    const { nonce, resources: sent } = decodeDeltaResponse(await answer);
    call.write(encodeDeltaRequest({ ...FIRST, node: { id: zone }, subscribe: [], responseNonce: nonce }));
    call.cancel();
    return sent.map(({ name }) => name);
  }

  const sync = Object.entries(syncService);
  const streams = [...sync, ...Object.entries(globalService).filter(([name]) => name !== 'healthCheck')];

  it.each(sync)('ends %s with a status when a message is none', async (_, method) => {
    const client = dial();
    const reasons = (): number => logged.filter((line) => line.includes('cannot read a Delta')).length;
    for (const bytes of [Buffer.from('ffffffffff', 'hex'), Buffer.alloc(1_000, 0x0b), Buffer.from('GET / HTTP/1.1\r\n\r\n')]) {
      const call = open(client, method, 'east');
      const told = reasons();
      call.write(bytes);
      const { code, details } = await ending(call);
      expect([status[code], details]).toEqual([expect.stringMatching(/^(INTERNAL|INVALID_ARGUMENT)$/), expect.any(String)]);
      expect(details).toMatch(/^cannot read a Delta/);
      await vi.waitFor(() => expect(reasons()).toBeGreaterThan(told));
      expect(reasons(), 'lines of the log that say why').toBe(told + 1);
    }
  });

  it.each(sync)('survives mutated frames on %s', async (_, method) => {
    const client = dial();
    const recorded = method === syncService.globalToZoneSync ? requests : responses;
    await fc.assert(
      fc.asyncProperty(fc.array(mutated(recorded), { minLength: 1, maxLength: 4 }), async (messages) => {
        const call = open(client, method, 'east');
        for (const message of messages) call.write(message);
        call.end();
        expect(status[(await ending(call)).code]).not.toBe('DEADLINE_EXCEEDED');
      }),
      { numRuns: 150 },
    );
  });

  it.each(streams)('ends %s with INVALID_ARGUMENT when client-id is missing', async (_, method) => {
    const { code, details } = await ending(open(dial(), method, undefined));
    expect([status[code], details]).toEqual(['INVALID_ARGUMENT', '"client-id" is not present in metadata']);
  });

  it('answers a health check without client-id with INVALID_ARGUMENT', async () => {
    const { path, requestSerialize, responseDeserialize } = globalService.healthCheck;
    const code = await new Promise((resolve) => {
      dial().makeUnaryRequest(path, requestSerialize, responseDeserialize, Buffer.alloc(0), (error) => resolve(error?.code));
    });
    expect(code).toBe(status.INVALID_ARGUMENT);
  });

  it('answers a health check of a name that no zone can have with INVALID_ARGUMENT, and tells nobody of it', async () => {
    const { path, requestSerialize, responseDeserialize } = globalService.healthCheck;
    const told = healthChecks.length;
    const answers = await Promise.all(
      ['east.west', 'EAST', 'fine'].map(async (name) => {
        const metadata = new Metadata();
        metadata.set('client-id', name);
        return await new Promise((resolve) => {
          const done = (error: { code: status } | null): void => resolve(error === null ? 'OK' : status[error.code]);
          dial().makeUnaryRequest(path, requestSerialize, responseDeserialize, Buffer.alloc(0), metadata, done);
        });
      }),
    );
    expect(answers).toEqual(['INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'OK']);
    expect(healthChecks.slice(told)).toEqual(['fine']);
    expect(await store.get({ type: 'Zone', mesh: '', name: 'fine' })).toBeDefined();
  });

  it.each([
    'east.west',
    '../east',
    'a/b',
    '"east"',
    "east'; drop table resources; --",
    'EAST',
    '__proto__',
    'a'.repeat(64),
    'east, west',
  ])('takes nobody in under the name %j', async (name) => {
    const client = dial();
    for (const [, method] of streams) {
      const { code, details } = await ending(open(client, method, name));
      expect(status[code]).toBe('INVALID_ARGUMENT');
      expect(details).toContain(JSON.stringify(name));
    }
  });

  it.each([
    ['as it is', {}],
    ['that gzip makes small', { 'grpc.default_compression_algorithm': 2 }],
  ])('refuses a message of 100 MB %s', async (_, options) => {
    const client = dial({ ...options, 'grpc.max_send_message_length': -1 });
    for (const [, method] of sync) {
      const call = open(client, method, 'east');
      call.write(Buffer.alloc(100 * MIB));
      expect(status[(await ending(call)).code]).toBe('RESOURCE_EXHAUSTED');
    }
  });

  it('ends a stream with a status that fits into headers, however long the name of an unknown type', async () => {
    const call = open(dial(), syncService.zoneToGlobalSync, 'east');
    const message = { nonce: '1', controlPlane: 'east', entries: [], removed: [] };
    call.write(encodeDeltaResponse({ ...message, typeUrl: 'x'.repeat(MIB) }));
    const { code, details } = await ending(call);
    expect(status[code]).toMatch(/^(INTERNAL|INVALID_ARGUMENT)$/);
    expect(details).toContain('invalid resource type');
  });

  it('refuses 100,000 resources that cannot be read in one answer that fits into a message', async () => {
    const call = open(dial(), syncService.zoneToGlobalSync, 'east');
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
    const entry = encodeResourceEntry({ name: 'other.default', version: '', kumaResource: timeout });
    const call = open(dial(), syncService.zoneToGlobalSync, 'east');
    store.beforeWrite = ({ key }) => (key.type === 'MeshTimeout' ? Promise.reject(new Error('disk full')) : undefined);
    call.write(encodeDeltaResponse({ typeUrl: 'MeshTimeout', nonce: '1', controlPlane: 'east', entries: [entry], removed: [] }));
    const { code, details } = await ending(call).finally(() => (store.beforeWrite = () => undefined));
    expect([status[code], details]).toEqual(['INTERNAL', 'disk full']);
  });

  it('gives an unknown type one empty answer, and no series of its own', async () => {
    const call = open(dial(), syncService.globalToZoneSync, 'east');
    const answer = new Promise<Buffer>((resolve) => call.once('data', resolve));
    call.write(encodeDeltaRequest({ ...FIRST, typeUrl: 'NoSuchType' }));
    const { typeUrl, resources: sent, removedResources } = decodeDeltaResponse(await answer);
    expect([typeUrl, sent, removedResources]).toEqual(['NoSuchType', [], []]);
    call.end();
    expect((await ending(call)).code).toBe(status.OK);
    expect(await registry.metrics()).not.toContain('NoSuchType');
  });

  it('keeps 10,000 idle streams of one connection open and serves another', async () => {
    const client = dial();
    const calls = Array.from({ length: 10_000 }, (_, n) => {
      const [, method] = streams[n % streams.length] ?? ['globalToZoneSync', syncService.globalToZoneSync];
      return open(client, method, 'east', Infinity);
    });
    await Promise.all(calls.map(takenIn));
    expect(await firstState()).toEqual([SLOW]);
    for (const call of calls) call.cancel();
  });

  it('serves a zone while another subscribes on 2,000 streams and acknowledges nothing', async () => {
    const client = dial();
    const calls = Array.from({ length: 2_000 }, () => open(client, syncService.globalToZoneSync, 'east', Infinity));
    for (const call of calls) call.write(encodeDeltaRequest(FIRST));
    await Promise.all(calls.map(takenIn));
    try {
      expect(await firstState()).toEqual([SLOW]);
    } finally {
      for (const call of calls) call.cancel();
    }
  });

  it('forgets 500 streams that are cancelled at once', async () => {
    const client = dial();
    const calls = Array.from({ length: 500 }, (_, n) => {
      const call = open(client, syncService.globalToZoneSync, `zone-${String(n)}`);
      call.write(encodeDeltaRequest(FIRST));
      return call;
    });
    await takenIn(open(client, syncService.globalToZoneSync, 'east'));
    const ended = calls.map(ending);
    for (const call of calls) call.cancel();
    for (const { code } of await Promise.all(ended)) expect(status[code]).toBe('CANCELLED');
  });

  it('closes connections that speak no HTTP/2', async () => {
    const tlsHello = Buffer.from('16030100a5010000a10303', 'hex');
    for (const bytes of [Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'), tlsHello, Buffer.alloc(64 * 1024, 0xff)]) {
      const socket = connectTcp(port, '127.0.0.1');
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
    const session = connectHttp2(`http://127.0.0.1:${String(port)}`);
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

  /** Resolves when the server has sent its headers. */
  async function takenIn(call: Call): Promise<void> {
    await new Promise((resolve) => call.once('metadata', resolve).resume());
  }
});
