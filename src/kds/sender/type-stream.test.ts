// One type on one stream: nonces, waiting, sizes and retries.
import { beforeEach, describe, expect, it } from 'vitest';
import { put, remove, subscribe } from '../../../test/support/fake-entries.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { createLogger } from '../../base/log.ts';
import type { DeltaRequest } from '../../wire/kds-messages.ts';
import { RateLimitedLogger } from '../../base/rate-limited-logger.ts';
import type { SyncEvent } from '../protocol/sync-events.ts';
import { TypeLog } from '../log/type-log.ts';
import { Nonces, TypeStream } from './type-stream.ts';

let clock: ManualClock;
let events: SyncEvent[];
let retries: number;

beforeEach(() => {
  clock = new ManualClock();
  events = [];
  retries = 0;
});

type Options = {
  readonly log?: TypeLog | null;
  readonly maxMessageBytes?: number;
  readonly messageBytes?: number;
  readonly unacceptedSince?: number | null;
  readonly saysInStep?: boolean;
};

function streamOf({
  log = new TypeLog('T'),
  maxMessageBytes = 1_000,
  messageBytes = 10,
  unacceptedSince = null,
  saysInStep = false,
}: Options = {}): TypeStream {
  const silent = createLogger('silent');
  const shared = {
    ...{ peer: 'east', streamId: 's', identifier: 'global', maxMessageBytes, log: silent, clock },
    encode: () => Buffer.alloc(messageBytes),
    fail: () => undefined,
    observe: (event: SyncEvent) => void events.push(event),
    warnings: new RateLimitedLogger(silent, () => clock.elapsed()),
    retry: () => void (retries += 1),
    lost: () => undefined,
  };
  return new TypeStream(shared, {
    ...{ type: 'T', subscription: log === null ? null : subscribe(log, { form: 'kuma' }), nonces: new Nonces() },
    behindSince: null,
    unacceptedSince,
    saysInStep,
  });
}

function answer(responseNonce: string, message: string | null = null): DeltaRequest {
  return {
    ...{ node: { id: 'east' }, typeUrl: 'T', subscribe: [], unsubscribe: [], initialResourceVersions: new Map(), responseNonce },
    errorDetail: message === null ? null : { code: 0, message, details: [] },
  };
}

const withheldCounts = (): number[] => events.flatMap((event) => (event.kind === 'withheld' ? [event.count] : []));
const tooLarge = (): (string | null)[] => events.flatMap((event) => (event.kind === 'withheld' ? [event.all] : []));

it('each response has its own nonce: its position, with a number if the position is repeated', () => {
  const nonces = new Nonces();
  expect([5, 5, 6, 3, 9].map((position) => nonces.next(position))).toEqual(['5', '5.1', '6.1', '3.2', '9.2']);
  expect(new Nonces().next(0)).toBe('0');
});

describe('a response', () => {
  it('is sent only after the answer to the previous one, and an answer to another one is ignored', () => {
    const log = new TypeLog('T');
    put(log, 'a', '1');
    const stream = streamOf({ log });
    expect(stream.next()?.draft.entries).toHaveLength(1);
    put(log, 'b', '1');
    expect([stream.isWaiting, stream.next()]).toEqual([true, null]);
    expect([stream.settle(answer('7')), stream.isWaiting]).toEqual([false, true]);
    expect([stream.settle(answer('1')), stream.isWaiting]).toEqual([true, false]);
    expect(stream.settle(answer('1'))).toBe(false);
    expect(stream.next()?.draft.upTo).toBe(2);
  });

  it('reports the seconds until its acknowledgement', async () => {
    const stream = streamOf();
    stream.next();
    await clock.advance(2_500);
    stream.settle(answer('0'));
    expect(events).toEqual([{ kind: 'acknowledged', peer: 'east', streamId: 's', type: 'T', position: 0, seconds: 2.5 }]);
  });

  it('of a type that is not provided is empty and is sent once', () => {
    const stream = streamOf({ log: null });
    expect(stream.next()?.draft).toEqual({ entries: [], removed: [], bytes: 0, isPartial: false, isWithdrawal: false, upTo: 0 });
    expect(stream.settle(answer('0'))).toBe(false);
    expect([stream.isWaiting, stream.next()]).toEqual([false, null]);
  });

  it('that waits for its answer says since when, until it is answered or its stream closes', async () => {
    const [answered, closed] = [streamOf(), streamOf()];
    await clock.advance(7);
    for (const [stream, end] of [
      [answered, (one: TypeStream) => void one.settle(answer('0'))],
      [closed, (one: TypeStream) => one.close()],
    ] as const) {
      expect(stream.waitsSince).toBeNull();
      stream.next();
      expect(stream.waitsSince).toBe(clock.elapsed());
      end(stream);
      expect(stream.waitsSince).toBeNull();
    }
  });

  it('may have the size of a message', () => {
    expect(streamOf({ maxMessageBytes: 10, messageBytes: 10 }).next()).not.toBeNull();
  });
});

describe('a full state', () => {
  it('over the message limit is reported with its size, and sent when it fits', () => {
    const log = new TypeLog('T');
    for (const name of ['a', 'b', 'c']) put(log, name, '1');
    const stream = streamOf({ log, maxMessageBytes: 20 });
    const bytes = 3 * Buffer.byteLength(JSON.stringify(['a', '1']));
    expect([stream.next(), stream.isWaiting]).toEqual([null, false]);
    expect(tooLarge()).toEqual([
      `the state of type T is ${String(bytes)} bytes, over the limit of 20 for one message to this peer`,
    ]);
    expect(withheldCounts()).toEqual([3]);
    remove(log, 'b');
    expect(stream.next()?.draft.entries).toHaveLength(2);
    expect(tooLarge().slice(1)).toEqual([null]);
    expect(withheldCounts()).toEqual([3, 0]);
  });

  it('with a message over the limit and resources below it is reported with the size of the message', () => {
    const log = new TypeLog('T');
    put(log, 'a', '1');
    expect(streamOf({ log, maxMessageBytes: 20, messageBytes: 21 }).next()).toBeNull();
    expect(tooLarge()).toEqual(['the state of type T is 21 bytes, over the limit of 20 for one message to this peer']);
  });
});

describe('a refused resource', () => {
  let log: TypeLog;
  let stream: TypeStream;

  beforeEach(() => {
    log = new TypeLog('T');
    put(log, 'a', '1');
    stream = streamOf({ log });
  });

  /** Answers the response that is due. */
  function settle(message: string | null): void {
    const upTo = stream.next()?.draft.upTo;
    for (const nonce of [upTo, ...Array.from({ length: 20 }, (_, repeat) => `${String(upTo)}.${String(repeat + 1)}`)])
      stream.settle(answer(String(nonce), message));
    expect(stream.isWaiting).toBe(false);
  }

  /** The seconds until the next retry. */
  async function secondsToRetry(): Promise<number> {
    const before = retries;
    for (let seconds = 1; ; seconds += 1) {
      await clock.advance(1_000);
      if (retries > before) return seconds;
    }
  }

  it('is retried after five seconds, then after twice the time, up to five minutes', async () => {
    const waits: number[] = [];
    for (let time = 0; time < 9; time += 1) {
      settle('no');
      waits.push(await secondsToRetry());
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('is retried after five seconds again when the peer accepted everything in between', async () => {
    settle('no');
    await secondsToRetry();
    settle('no');
    await secondsToRetry();
    settle(null);
    put(log, 'a', '2');
    settle('no');
    expect(await secondsToRetry()).toBe(5);
  });

  it('is not retried on a closed stream', () => {
    settle('no');
    stream.close();
    expect(clock.sleepers).toBe(0);
  });

  it('has the first thousand characters of the message as its reason', () => {
    settle('x'.repeat(2_000));
    const reasons = events.flatMap((event) => (event.kind === 'refused' ? [event.refused.reason] : []));
    expect(reasons).toEqual(['x'.repeat(1_000)]);
  });
});

describe('the time since a response that the peer has not accepted', () => {
  it('begins with a response, and is 0 after its acknowledgement', async () => {
    const log = new TypeLog('T');
    const stream = streamOf({ log });
    expect(stream.unacceptedMs).toBeNull();
    for (const position of [0, 1]) {
      stream.next();
      await clock.advance(3_000);
      expect(stream.unacceptedMs).toBe(3_000);
      stream.settle(answer(String(position)));
      expect(stream.unacceptedMs).toBe(0);
      put(log, 'a', '1');
      stream.changed();
      expect(stream.unacceptedMs).toBe(0);
    }
  });

  /** A stream whose peer has refused the resource `a` of the log. */
  function refused(log: TypeLog): TypeStream {
    put(log, 'a', '1');
    const stream = streamOf({ log });
    stream.next();
    stream.settle(answer('1', 'no'));
    return stream;
  }

  it('goes on while a resource stays refused, also during its retry, and ends when it is accepted', async () => {
    const log = new TypeLog('T');
    const stream = refused(log);
    put(log, 'b', '1');
    stream.next();
    await clock.advance(1_000);
    stream.settle(answer('2'));
    await clock.advance(4_000);
    expect([retries, stream.unacceptedMs]).toEqual([1, 5_000]);
    stream.next();
    await clock.advance(1_000);
    expect(stream.unacceptedMs).toBe(6_000);
    stream.settle(answer('2.1'));
    expect(stream.unacceptedMs).toBe(0);
  });

  it('goes on after the removal of a refused resource, until the peer accepts that', async () => {
    const log = new TypeLog('T');
    const stream = refused(log);
    await clock.advance(1_000);
    remove(log, 'a');
    stream.next();
    await clock.advance(2_000);
    expect(stream.unacceptedMs).toBe(3_000);
    stream.settle(answer('2'));
    expect(stream.unacceptedMs).toBe(0);
  });

  it('goes on after a refusal of a removal, which names no resource, until the peer accepts something', async () => {
    const log = new TypeLog('T');
    put(log, 'a', '1');
    const stream = streamOf({ log });
    stream.next();
    stream.settle(answer('1'));
    remove(log, 'a');
    stream.next();
    stream.settle(answer('2', 'no database'));
    await clock.advance(1_000);
    expect(stream.unacceptedMs).toBe(1_000);
    put(log, 'b', '1');
    stream.next();
    await clock.advance(1_000);
    expect(stream.unacceptedMs).toBe(2_000);
    stream.settle(answer('3'));
    expect(stream.unacceptedMs).toBe(0);
  });

  it('goes on with the next subscription of the type', async () => {
    const log = new TypeLog('T');
    const first = streamOf({ log });
    expect(first.unacceptedSince).toBeNull();
    first.next();
    await clock.advance(1_000);
    const second = streamOf({ log, unacceptedSince: first.unacceptedSince });
    second.next();
    await clock.advance(1_000);
    expect(second.unacceptedMs).toBe(2_000);
    second.settle(answer('0'));
    expect([second.unacceptedMs, second.unacceptedSince]).toEqual([0, null]);
  });

  it('ends with a next subscription that is in step', async () => {
    const stream = streamOf({ log: new TypeLog('T'), saysInStep: true, unacceptedSince: clock.elapsed() });
    await clock.advance(1_000);
    expect(stream.unacceptedSince).not.toBeNull();
    expect(stream.next()?.message).toBeNull();
    expect(stream.unacceptedSince).toBeNull();
  });

  it('is unknown for a type that this side does not provide', () => {
    const stream = streamOf({ log: null });
    stream.next();
    expect(stream.unacceptedMs).toBeNull();
  });
});

describe('the unconfirmed changes of a peer', () => {
  it('counts from the oldest such change, and a confirmed change from its confirmation', async () => {
    const log = new TypeLog('T');
    put(log, 'a', '1');
    const stream = streamOf({ log });
    const since = (): number | undefined => stream.behindSince?.getTime();
    const start = clock.now().getTime();
    expect([since(), stream.confirmedAt(1)]).toEqual([start, null]);
    stream.next();
    await clock.advance(1_000);
    put(log, 'b', '1');
    stream.changed();
    await clock.advance(1_000);
    expect(since()).toBe(start);
    stream.settle(answer('1'));
    expect([since(), stream.confirmedAt(1)?.getTime()]).toEqual([start + 1_000, start + 2_000]);
    stream.next();
    await clock.advance(1_000);
    stream.settle(answer('2'));
    expect([since(), stream.confirmedAt(2)?.getTime()]).toEqual([undefined, start + 3_000]);
    expect(stream.confirmedAt(1)?.getTime()).toBe(start + 2_000);
  });

  it('ends with a change that the peer does not see', () => {
    const log = new TypeLog('T');
    const stream = streamOf({ log });
    stream.next();
    stream.settle(answer('0'));
    expect(stream.behindSince).toBeNull();
    stream.changed();
    expect(stream.behindSince).not.toBeNull();
    expect(stream.next()).toBeNull();
    expect(stream.behindSince).toBeNull();
  });

  it('is confirmed at its first confirmation, at position 0 too, and not again when nothing is due', async () => {
    const log = new TypeLog('T');
    const stream = streamOf({ log });
    expect(stream.lastConfirmedAt).toBeNull();
    stream.next();
    expect(stream.lastConfirmedAt).toBeNull();
    stream.settle(answer('0'));
    const first = clock.now();
    expect([stream.lastConfirmedAt, stream.confirmedAt(0), stream.confirmedAt(1)]).toEqual([first, first, null]);
    await clock.advance(1_000);
    expect(stream.next()).toBeNull();
    expect([stream.lastConfirmedAt, stream.confirmedAt(0)]).toEqual([first, first]);
    put(log, 'a', '1');
    stream.next();
    stream.settle(answer('1'));
    expect([stream.lastConfirmedAt, stream.confirmedAt(1), stream.confirmedAt(0)]).toEqual([clock.now(), clock.now(), first]);
  });

  it('has the times of the last 64 positions', async () => {
    const log = new TypeLog('T');
    const stream = streamOf({ log });
    const start = clock.now().getTime();
    for (let version = 1; version <= 65; version += 1) {
      put(log, 'a', String(version));
      stream.next();
      await clock.advance(1);
      stream.settle(answer(String(version)));
    }
    expect([1, 2, 3, 65].map((position) => (stream.confirmedAt(position)?.getTime() ?? 0) - start)).toEqual([2, 2, 3, 65]);
  });

  it('costs the same after any number of answers', () => {
    const log = new TypeLog('T');
    const stream = streamOf({ log });
    for (let version = 1; version <= 200; version += 1) {
      put(log, 'a', String(version));
      stream.changed();
      stream.next();
      stream.settle(answer(String(version)));
    }
    expect(stream.confirmedAt(1)).toEqual(stream.confirmedAt(137));
    expect(stream.behindSince).toBeNull();
  });
});

it('a stream that has ended keeps no slot of a removed resource', () => {
  const log = new TypeLog('T');
  put(log, 'a', '1');
  const stream = streamOf({ log });
  stream.next();
  expect(stream.settle(answer('1'))).toBe(true);
  remove(log, 'a');
  expect(log.find('a')).toBeDefined();
  stream.close();
  expect(log.find('a')).toBeUndefined();
});
