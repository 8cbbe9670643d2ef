// The connections of a zone to its global: when it dials again, and what it logs.
import { credentials, Metadata, Server, ServerCredentials, status, type handleUnaryCall } from '@grpc/grpc-js';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { fc } from '../../../test/support/property.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { MeridianError } from '../../base/errors.ts';
import { createLogger } from '../../base/log.ts';
import { channelOptions, reconnectPauseMs, runKdsClient, type KdsClientOptions, type KdsClientTls } from './client.ts';
import type { SyncEvent } from '../protocol/sync-events.ts';
import { globalService } from '../protocol/services.ts';

it('a zone reconnects within 0.8 s after any number of failures, and zones do not all reconnect at once (engine 22)', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (random) => {
      const pause = reconnectPauseMs(() => random);
      expect(pause).toBeGreaterThanOrEqual(100);
      expect(pause).toBeLessThan(800);
    }),
  );
  const pauses = Array.from({ length: 1_000 }, () => reconnectPauseMs());
  expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(300);
});

it('a zone pings global less often than every 15 s, also without a stream, on a channel of its own', () => {
  expect(channelOptions({ maxMessageBytes: 7 })).toEqual({
    'grpc.max_receive_message_length': 7,
    'grpc.max_send_message_length': 7,
    'grpc.keepalive_time_ms': 20_000,
    'grpc.keepalive_timeout_ms': 15_000,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.use_local_subchannel_pool': 1,
  });
});

describe('a zone that is not connected', () => {
  const started = new AsyncDisposableStack();
  afterEach(() => vi.restoreAllMocks());
  afterAll(() => started.disposeAsync());
  const log = createLogger('silent');

  const reasonOf = (about: unknown): string => {
    const { reason, healthCheck } = about as { reason?: string; healthCheck?: string };
    return reason ?? `health check: ${healthCheck ?? ''}`;
  };

  type Logged = readonly [level: 'error' | 'warn', reason: string];

  /**
   * Runs the client until its fourth pause.
   * @param elapsed the time of its clock
   * @returns its pauses in milliseconds, its log lines, and the refusals that it reports
   */
  async function pausesOf(
    options: Partial<KdsClientOptions>,
    elapsed: Clock['elapsed'] = () => systemClock.elapsed(),
  ): Promise<{ pauses: number[]; logged: Logged[]; refusals: string[] }> {
    const pauses: number[] = [];
    const refusals: string[] = [];
    const logged: Logged[] = [];
    const stop = new AbortController();
    vi.spyOn(log, 'error').mockImplementation((_, text) => void logged.push(['error', String(text)]));
    vi.spyOn(log, 'warn').mockImplementation((about) => void logged.push(['warn', reasonOf(about)]));
    const clock: Clock = {
      ...{ ...systemClock, elapsed },
      sleep: async (ms, signal, waiting) => {
        // The pause between two health checks of one connection.
        if (waiting !== undefined) return await systemClock.sleep(ms, signal, waiting);
        pauses.push(ms);
        if (pauses.length === 4) stop.abort();
      },
    };
    const node = { version: '0', instanceId: 'zone-1', config: '{}' };
    const observe = (event: SyncEvent): void => void (event.kind === 'turnedAway' && refusals.push(event.reason));
    const all = { ...{ zone: 'east', storeId: 's', node, clock, log, tls: null, maxMessageBytes: 1_000, observe }, ...options };
    await runKdsClient(all as KdsClientOptions, stop.signal);
    return { pauses, logged, refusals };
  }

  /** The address of a global that answers each health check with this status. */
  async function refusing(code: status, details: string): Promise<string> {
    const server = new Server();
    const healthCheck: handleUnaryCall<unknown, Buffer> = (_, answer) => answer({ code, details, metadata: new Metadata() });
    server.addService({ healthCheck: globalService.healthCheck }, { healthCheck });
    started.defer(() => server.forceShutdown());
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    return `127.0.0.1:${String(port)}`;
  }

  it('reads an unusable file again after half a second, and logs the reason once', async () => {
    const tls = (): Promise<never> => Promise.reject(new MeridianError('config', 'the file cannot be read'));
    const { pauses, logged } = await pausesOf({ address: '127.0.0.1:1', tls });
    expect(pauses).toEqual([500, 500, 500, 500]);
    expect(logged).toEqual([['error', 'the file cannot be read']]);
  });

  it('logs each reason that differs from the last one', async () => {
    const reasons = ['one', 'two', 'two', 'one'];
    const tls = (): Promise<never> => Promise.reject(new MeridianError('config', reasons.shift() ?? ''));
    expect((await pausesOf({ address: '127.0.0.1:1', tls })).logged.map(([, reason]) => reason)).toEqual(['one', 'two', 'one']);
  });

  it('waits 15 seconds after a failure that an operator must fix', async () => {
    const authorization = (): Promise<never> => Promise.reject(new MeridianError('forbidden', 'no'));
    expect(await pausesOf({ address: '127.0.0.1:1', authorization })).toEqual({
      ...{ pauses: [15_000, 15_000, 15_000, 15_000], logged: [['error', 'no']], refusals: [] },
    });
  });

  it.each([status.UNAUTHENTICATED, status.FAILED_PRECONDITION])(
    'waits three seconds after a refusal with status %i, and reports each',
    async (code) => {
      const { pauses, logged, refusals } = await pausesOf({ address: await refusing(code, 'the token is not valid') });
      expect(pauses).toEqual([3_000, 3_000, 3_000, 3_000]);
      expect(logged).toEqual([['error', 'global refuses: the token is not valid']]);
      expect(refusals).toEqual(Array(4).fill('global refuses: the token is not valid'));
    },
  );

  it('waits longer each time while global does not answer in time: each attempt costs it a handshake', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { pauses, logged } = await pausesOf({ address: await refusing(status.DEADLINE_EXCEEDED, 'late') });
    expect(pauses).toEqual([200, 400, 800, 800]);
    expect(logged).toEqual([['warn', 'late']]);
  });

  it('waits longer each time while global answers the health check with an error, and warns once', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const admission = (): Promise<never> => Promise.reject(new Error('the stream ended'));
    const { pauses, logged } = await pausesOf({ address: await refusing(status.INTERNAL, 'a fault'), admission });
    expect(pauses).toEqual([200, 400, 800, 800]);
    expect(logged).toEqual([
      ['warn', 'health check: a fault'],
      ['warn', 'the stream ended'],
    ]);
  });

  it('waits three seconds after a refusal also where a proxy before global answers the health check with an error', async () => {
    const refusal = { code: status.UNAUTHENTICATED, details: 'the token is not valid' };
    const admission = (): Promise<never> => Promise.reject(Object.assign(new Error('refused'), refusal));
    const { pauses } = await pausesOf({ address: await refusing(status.INTERNAL, 'a fault'), admission });
    expect(pauses).toEqual([3_000, 3_000, 3_000, 3_000]);
  });

  it('does not wait longer after connections that lasted, though a proxy before global answers the health check with an error', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    let now = 0;
    const admission = (): Promise<never> => {
      now += 60_000;
      return Promise.reject(new Error('the stream ended'));
    };
    const { pauses } = await pausesOf({ address: await refusing(status.INTERNAL, 'a fault'), admission }, () => now);
    expect(pauses).toEqual([100, 100, 100, 100]);
  });

  it.each<
    [what: string, tls: Partial<KdsClientTls>, expected: [ca: string | null, key: string | null, cert: string | null, boolean]]
  >([
    ['the authorities of the system', {}, [null, null, null, true]],
    ['a given authority', { rootCa: Buffer.from('ca') }, ['ca', null, null, true]],
    [
      'a certificate of its own',
      { identity: { cert: Buffer.from('cert'), key: Buffer.from('key') } },
      [null, 'key', 'cert', true],
    ],
    ['no look at the certificate of global', { skipVerify: true, identity: null }, [null, null, null, false]],
  ])('dials with TLS with %s', async (_, tls, expected) => {
    const made: unknown[] = [];
    vi.spyOn(credentials, 'createSsl').mockImplementation((ca, key, cert, options) => {
      const [caText, keyText, certText] = [ca, key, cert].map((pem) => pem?.toString() ?? null);
      made.push([caText, keyText, certText, options?.rejectUnauthorized]);
      return credentials.createInsecure();
    });
    const address = await refusing(status.UNAVAILABLE, 'it stops');
    await pausesOf({ address, tls: { rootCa: null, skipVerify: false, ...tls } });
    expect(made).toEqual(Array(4).fill(expected));
  });

  it('dials again soon where global does not answer, and warns', async () => {
    const { pauses, logged } = await pausesOf({ address: await refusing(status.UNAVAILABLE, 'it stops') });
    for (const pause of pauses) expect(pause).toBeLessThan(800);
    expect(logged).toEqual([['warn', 'it stops']]);
  });
});
