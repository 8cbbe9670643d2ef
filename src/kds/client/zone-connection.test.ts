// The health check of a zone, answered by the test.
import { EventEmitter } from 'node:events';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Metadata, status, type Client } from '@grpc/grpc-js';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { createLogger } from '../../base/log.ts';
import { encodeHealthCheckResponse } from '../../wire/global-service-messages.ts';
import type { SyncEvent } from '../protocol/sync-events.ts';
import { Connection, type ConnectionOptions } from './zone-connection.ts';

type Answer = { readonly code?: status; readonly intervalMs?: number; readonly features?: string };
type Asked = { readonly metadata: Metadata; readonly deadline: number };

const DAY_MS = 86_400_000;

let clock: ManualClock;
let asked: Asked[];
let answer: Answer;
let stop: AbortController;
let connection: Connection;
let events: SyncEvent[];
let options: Partial<ConnectionOptions>;

class Call extends EventEmitter {
  cancel(): void {
    this.emit('end');
  }
}

type Callback = (error: { code: status; details: string } | null, bytes?: Buffer) => void;

/** A stream that was opened. */
class Stream extends Duplex {
  wasCancelled = false;
  readonly path: string;
  readonly metadata: Metadata;

  constructor(path: string, metadata: Metadata) {
    super({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
    this.path = path;
    this.metadata = metadata;
  }

  cancel(): void {
    this.wasCancelled = true;
  }
}
let streams: Stream[];
const adminPaths = (): string[] => streams.slice(1).map(({ path }) => path.split('/').at(-1) ?? '');

/** A client of which each unary call gets the answer of the moment, and each stream ends with its code. */
const client = {
  makeUnaryRequest(...args: unknown[]): Call {
    const [, , , , metadata, { deadline }, callback] = args as [0, 0, 0, 0, Metadata, { deadline: number }, Callback];
    asked.push({ metadata, deadline });
    const call = new Call();
    const { code, intervalMs = 0, features } = answer;
    void setImmediate().then(() => {
      if (features !== undefined) {
        const headers = new Metadata();
        headers.set('features', features);
        call.emit('metadata', headers);
      }
      if (code === undefined) callback(null, encodeHealthCheckResponse({ intervalMs }));
      else callback({ code, details: 'why' });
    });
    return call;
  },
  makeBidiStreamRequest(...[path, , , metadata]: [string, unknown, unknown, Metadata]): Stream {
    const call = new Stream(path, metadata);
    streams.push(call);
    return call;
  },
} as unknown as Client;

beforeEach(() => {
  clock = new ManualClock();
  stop = new AbortController();
  [asked, answer, streams, events] = [[], {}, [], []];
  options = {
    admission: async () => null,
    store: { acquireFencingToken: async () => Promise.reject(new Error('gone')) } as unknown as ConnectionOptions['store'],
    observe: (event) => void events.push(event),
    log: createLogger('silent'),
    zone: 'east',
    storeId: 'store-1',
    node: { version: '1.2', instanceId: 'i', config: '' },
    clock,
  };
  connection = new Connection(options as ConnectionOptions, client, stop.signal, 'Bearer x');
});

describe('a health check', () => {
  it('names the zone, its store, its version, its features and its token, and has thirty seconds', async () => {
    await connection.healthCheck();
    const [{ metadata, deadline } = { metadata: new Metadata(), deadline: 0 }] = asked;
    expect(deadline).toBe(clock.now().getTime() + 30_000);
    const headers = Object.fromEntries(Object.keys(metadata.getMap()).map((name) => [name, metadata.get(name)]));
    expect(headers).toEqual({
      ...{ 'client-id': ['east'], 'store-id': ['store-1'], authorization: ['Bearer x'], version: ['1.2'] },
      ...{
        'kds-version': ['v3'],
        'zone-version': ['v3'],
        features: [
          'zone-ping-health',
          'hash-suffix',
          'meridian-v1',
          'meridian-bundles',
          'meridian-in-step',
          'meridian-one-admin-stream',
        ],
      },
    });
  });

  it.each<[Answer, object]>([
    [{ intervalMs: 5_000 }, { isMeridian: false, intervalMs: 5_000, failure: null }],
    [
      { intervalMs: 5_000, features: 'other, meridian-v1' },
      { isMeridian: true, intervalMs: 5_000, failure: null },
    ],
    [{ features: 'meridian-v10' }, { isMeridian: false, intervalMs: 0, failure: null }],
    [
      { code: status.UNIMPLEMENTED, features: 'meridian-v1' },
      { isMeridian: false, intervalMs: 0, failure: null },
    ],
    [
      { code: status.INTERNAL, features: 'meridian-v1' },
      { isMeridian: true, intervalMs: 0, failure: 'why' },
    ],
    [{ code: status.NOT_FOUND }, { isMeridian: false, intervalMs: 0, failure: 'why' }],
  ])('answered with %j says %j', async (given, expected) => {
    answer = given;
    expect(await connection.healthCheck()).toEqual(expected);
  });

  it.each([status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.UNAUTHENTICATED, status.FAILED_PRECONDITION])(
    'that no global answers fails: %i',
    async (code) => {
      answer = { code };
      await expect(connection.healthCheck()).rejects.toMatchObject({ code });
    },
  );

  it.each(['ends', 'has ended'])('of a connection that %s is cancelled and fails', async (when) => {
    answer = { code: status.CANCELLED };
    const cancelled = vi.spyOn(Call.prototype, 'cancel');
    onTestFinished(() => cancelled.mockRestore());
    if (when === 'has ended') stop.abort();
    const checking = connection.healthCheck();
    stop.abort();
    expect(cancelled).toHaveBeenCalledTimes(1);
    await expect(checking).rejects.toMatchObject(answer);
  });

  it('that was answered is not cancelled when its connection ends', async () => {
    const cancelled = vi.spyOn(Call.prototype, 'cancel');
    onTestFinished(() => cancelled.mockRestore());
    await connection.healthCheck();
    stop.abort();
    expect(cancelled).not.toHaveBeenCalled();
  });
});

describe('a question', () => {
  const never = new AbortController().signal;
  const ask = (signal = never): Promise<Buffer | null> => connection.ask(Buffer.from('q'), 1_500, signal);

  it('names the zone and its token, and has the time that its caller gives', async () => {
    await ask();
    const [{ metadata, deadline } = { metadata: new Metadata(), deadline: 0 }] = asked;
    expect(deadline).toBe(clock.now().getTime() + 1_500);
    expect([metadata.get('client-id'), metadata.get('authorization')]).toEqual([['east'], ['Bearer x']]);
  });

  it('has the bytes of global as its answer, and null from a global that knows no questions', async () => {
    answer = { intervalMs: 5 };
    expect(await ask()).toEqual(encodeHealthCheckResponse({ intervalMs: 5 }));
    answer = { code: status.UNIMPLEMENTED };
    expect(await ask()).toBeNull();
  });

  it.each([
    [status.UNAVAILABLE, 'global did not answer: why'],
    [status.INTERNAL, 'global did not answer: why'],
    [status.DEADLINE_EXCEEDED, 'global did not answer within 1.5 s'],
  ])('fails with code %i, and the error says «%s»', async (code, message) => {
    answer = { code };
    await expect(ask()).rejects.toThrow(message);
  });

  it.each(['that its caller aborts', 'of a connection that ends', 'that was aborted before', 'of an ended connection'])(
    '%s is cancelled',
    async (what) => {
      const caller = new AbortController();
      const source = what.includes('connection') ? stop : caller;
      const cancelled = vi.spyOn(Call.prototype, 'cancel');
      const isBefore = what.includes('before') || what.includes('ended');
      if (isBefore) source.abort();
      const asking = ask(caller.signal);
      expect(cancelled).toHaveBeenCalledTimes(isBefore ? 1 : 0);
      if (!isBefore) source.abort();
      expect(cancelled).toHaveBeenCalledTimes(1);
      await asking;
      cancelled.mockRestore();
    },
  );

  it('that was answered is not cancelled when its caller or its connection ends', async () => {
    const caller = new AbortController();
    const cancelled = vi.spyOn(Call.prototype, 'cancel');
    await ask(caller.signal);
    caller.abort();
    stop.abort();
    expect(cancelled).not.toHaveBeenCalled();
    cancelled.mockRestore();
  });
});

describe('a stream of a connection', () => {
  it.each([
    ['Bearer x', true],
    [null, false],
  ])('is reported from its start to its end, with its error, and is cancelled then: token %s', async (token, authorized) => {
    const made = new Connection(options as ConnectionOptions, client, stop.signal, token);
    await expect(made.receive(true)).rejects.toThrow('gone');
    expect(events).toMatchObject([
      { kind: 'opened', peer: 'global', stream: 'globalToZone', authorized },
      { kind: 'closed', peer: 'global', stream: 'globalToZone', error: 'gone' },
    ]);
    expect(
      streams.map(({ path, metadata, wasCancelled }) => [path.split('/').at(-1), metadata.get('authorization'), wasCancelled]),
    ).toEqual([['GlobalToZoneSync', token === null ? [] : [token], true]]);
  });

  it.each([
    [status.UNIMPLEMENTED, 'stays away until the connection ends'],
    [status.INTERNAL, 'fails'],
  ])('for questions about proxies opens after the admission; with code %i it %s', async (code, outcome) => {
    let end: unknown = null;
    const admin = connection.admin().catch((error: unknown) => (end = error));
    await setImmediate();
    expect(streams).toEqual([]);
    await expect(connection.receive(true)).rejects.toThrow('gone');
    await vi.waitFor(() => expect(adminPaths()).toEqual(['StreamXDSConfigs', 'StreamStats', 'StreamClusters']));
    streams[2]?.destroy(Object.assign(new Error('no'), { code }));
    await vi.waitFor(() => expect(events.at(-1)).toMatchObject({ kind: 'closed', stream: 'stats', error: 'no' }));
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    expect(end === null).toBe(outcome !== 'fails');
    stop.abort();
    await admin;
  });

  it('for questions about proxies is one for all kinds where global knows that', async () => {
    answer = { intervalMs: 5_000, features: 'meridian-v1, meridian-one-admin-stream' };
    await connection.healthCheck();
    const admin = connection.admin();
    await expect(connection.receive(true)).rejects.toThrow('gone');
    await vi.waitFor(() => expect(adminPaths()).toEqual(['StreamXDSConfigs']));
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    expect(adminPaths()).toHaveLength(1);
    streams[1]?.destroy(Object.assign(new Error('no'), { code: status.UNIMPLEMENTED }));
    await vi.waitFor(() => expect(events.at(-1)).toMatchObject({ kind: 'closed', stream: 'configDump' }));
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    stop.abort();
    await admin;
  });
});

describe('the checks of a connection', () => {
  const good = { isMeridian: true, intervalMs: 5_000, failure: null };
  let fault: unknown;

  async function pass(ms: number): Promise<void> {
    await clock.advance(ms);
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
  }

  async function keep(first: typeof good | { isMeridian: boolean; intervalMs: number; failure: string }): Promise<void> {
    fault = null;
    connection.keepChecking(first).catch((error: unknown) => (fault = error));
    await pass(0);
  }

  it.each<[string, object, number]>([
    ['at the interval that global names', good, 5_000],
    ['every five minutes where it names none', { ...good, intervalMs: 0 }, 300_000],
    ['each day at least', { ...good, intervalMs: 30 * DAY_MS }, DAY_MS],
    ['ten seconds after a failure', { ...good, failure: 'why' }, 10_000],
  ])('come %s', async (_, first, ms) => {
    answer = { intervalMs: 7_000 };
    await keep(first as typeof good);
    await pass(ms - 1);
    expect(asked).toHaveLength(0);
    await pass(1);
    expect(asked).toHaveLength(1);
    await pass(7_000);
    expect([asked.length, fault]).toEqual([2, null]);
    stop.abort();
    await pass(0);
  });

  it.each<[string, object, Answer, boolean]>([
    [
      'a global that failed at first and is Meridian',
      { isMeridian: false, intervalMs: 0, failure: 'why' },
      { features: 'meridian-v1' },
      true,
    ],
    ['a global that failed at first and is not', { isMeridian: false, intervalMs: 0, failure: 'why' }, {}, false],
    [
      'a global that was Meridian when it failed',
      { isMeridian: true, intervalMs: 0, failure: 'why' },
      { features: 'meridian-v1' },
      false,
    ],
    ['a global that did not fail', { isMeridian: false, intervalMs: 10_000, failure: null }, { features: 'meridian-v1' }, false],
  ])('end the connection for %s or not', async (_, first, given, isEnded) => {
    answer = given;
    await keep(first as typeof good);
    await pass(10_000);
    expect(fault === null).toBe(!isEnded);
    stop.abort();
    await pass(0);
  });

  it('end with a check that no global answers, and with the connection', async () => {
    answer = { code: status.UNAVAILABLE };
    await keep(good);
    await pass(5_000);
    expect(fault).toMatchObject({ code: status.UNAVAILABLE });
    answer = {};
    await keep(good);
    stop.abort();
    await pass(0);
    expect([fault instanceof Error, asked.length]).toEqual([true, 1]);
  });
});
