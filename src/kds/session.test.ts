// Both roles on a stream of objects, as gRPC gives it.
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { runSteps } from '../base/steps.ts';
import { encodeDeltaRequest, type DeltaRequest } from '../wire/kds-messages.ts';
import { atOnce, type Pace } from './protocol/pace.ts';
import type { Receiver } from './receiver/receiver.ts';
import type { Sender } from './sender/sender.ts';
import { eachMessage, messagesOf } from '../grpc/messages-of.ts';
import { consume, serve } from './session.ts';

/** A stream of messages. What is written stays unread until the test reads it. */
class Stream extends Duplex {
  readonly written: ((error?: Error | null) => void)[] = [];

  constructor() {
    super({ objectMode: true });
  }

  override _read(): void {
    // The test pushes the messages.
  }

  override _write(_: unknown, __: string, done: (error?: Error | null) => void): void {
    this.written.push(done);
  }
}

const requestOf = (typeUrl: string): Buffer =>
  encodeDeltaRequest({
    ...{ node: { id: 'east' }, typeUrl, subscribe: ['*'], unsubscribe: [], initialResourceVersions: new Map() },
    ...{ responseNonce: '', errorDetail: null },
  });

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
}

let stream: Stream;
let steps: string[];

beforeEach(() => {
  stream = new Stream();
  steps = [];
});

describe('the serving end', () => {
  let prepared: PromiseWithResolvers<void>;

  const sender = {
    ready: async () => void steps.push('ready'),
    prepare: async ({ typeUrl }: DeltaRequest) => {
      steps.push(`prepare ${typeUrl.slice(0, 9)}`);
      await prepared.promise;
    },
    handle: ({ typeUrl }: DeltaRequest) => void steps.push(`handle ${typeUrl.slice(0, 9)}`),
    drained: () => void steps.push('drained'),
    close: () => void steps.push('close'),
  } as unknown as Sender;

  beforeEach(() => {
    prepared = Promise.withResolvers();
  });

  it('handles one request after the other, each after its rows were read, and closes with the stream', async () => {
    const serving = serve(stream, sender);
    for (const type of ['Mesh', 'MeshRetry']) stream.push(requestOf(type));
    await settled();
    expect(steps).toEqual(['ready', 'prepare Mesh']);
    prepared.resolve();
    await settled();
    stream.emit('drain');
    stream.push(null);
    await serving;
    expect(steps.slice(2)).toEqual(['handle Mesh', 'prepare MeshRetry', 'handle MeshRetry', 'drained', 'close']);
  });

  it('reads a large request in steps, and a small one at once', async () => {
    prepared.resolve();
    const run = vi.fn((work: Parameters<typeof runSteps>[0]) => Promise.resolve(runSteps(work)));
    const serving = serve(stream, sender, { ...atOnce, run: run as unknown as Pace['run'] });
    const [small, large] = [4_096, 4_097].map((bytes) => requestOf('x'.repeat(bytes - requestOf('').length - 3)));
    expect([small?.length, large?.length]).toEqual([4_096, 4_097]);
    stream.push(small);
    await settled();
    expect(run).not.toHaveBeenCalled();
    stream.push(large);
    await settled();
    expect(run).toHaveBeenCalledOnce();
    stream.push(null);
    await serving;
    expect(steps.filter((step) => step.startsWith('handle'))).toHaveLength(2);
  });

  it('fails on bytes that are no request, and closes', async () => {
    const serving = serve(stream, sender);
    stream.push(Buffer.from([0x0a, 0xff]));
    await expect(serving).rejects.toThrow();
    expect(steps).toEqual(['ready', 'close']);
  });
});

describe('the receiving end', () => {
  let fault: Error | null;

  const receiver = {
    start: async () => void steps.push('start'),
    take: async (bytes: Buffer) => {
      steps.push(`take ${String(bytes.length)}`);
      if (fault !== null) throw fault;
    },
    close: () => void steps.push('close'),
  } as unknown as Receiver;

  beforeEach(() => {
    fault = null;
  });

  it('takes one response after the other, each in the turn of its peer', async () => {
    const turns: (() => void)[] = [];
    const consuming = consume(stream, receiver, async (task) => {
      await new Promise<void>((resolve) => turns.push(resolve));
      await task();
    });
    for (const size of [1, 2]) stream.push(Buffer.alloc(size));
    await settled();
    expect([steps, turns.length]).toEqual([['start'], 1]);
    turns[0]?.();
    await settled();
    expect([steps, turns.length]).toEqual([['start', 'take 1'], 2]);
    turns[1]?.();
    stream.push(null);
    await consuming;
    expect(steps).toEqual(['start', 'take 1', 'take 2', 'close']);
  });

  it('fails and closes when a response cannot be taken', async () => {
    const consuming = consume(stream, receiver);
    fault = new Error('the store does not answer');
    stream.push(Buffer.alloc(1));
    await expect(consuming).rejects.toThrow('the store does not answer');
    expect(steps.at(-1)).toBe('close');
  });

  it('ends a peer that leaves more than a hundred answers unread', async () => {
    const answer = (count: number): void => {
      for (let n = 0; n < count; n += 1) stream.write(Buffer.alloc(1));
    };
    const consuming = consume(stream, receiver);
    answer(100);
    stream.push(Buffer.alloc(1));
    await settled();
    expect(steps).toEqual(['start', 'take 1']);
    answer(1);
    stream.push(Buffer.alloc(1));
    await expect(consuming).rejects.toThrow('does not read the answers');
  });
});

describe('the messages of a stream', () => {
  it('are read one by one: the next is asked for when the one before was handled', async () => {
    let asked = 0;
    stream._read = () => {
      asked += 1;
      stream.push(Buffer.alloc(asked));
    };
    const messages = messagesOf(stream);
    for (const size of [1, 2, 3]) {
      expect((await messages.next()).value).toHaveLength(size);
      await settled();
      expect(asked).toBe(size);
    }
    await messages.return();
    expect(stream.destroyed).toBe(false);
  });

  it('end with the error of a stream that breaks, and with a stream that is destroyed', async () => {
    const reading = messagesOf(stream).next();
    stream.destroy(new Error('the connection is gone'));
    await expect(reading).rejects.toThrow('the connection is gone');
  });

  it('leave no listener behind', async () => {
    const before = stream.eventNames().map((name) => stream.listenerCount(name));
    const messages = messagesOf(stream);
    stream.push(Buffer.alloc(1));
    await messages.next();
    await messages.return();
    expect(stream.eventNames().map((name) => stream.listenerCount(name))).toEqual(before);
  });

  it('are taken one by one: the next is asked for when the promise for the one before has settled', async () => {
    let asked = 0;
    stream._read = () => {
      asked += 1;
      stream.push(asked > 3 ? null : Buffer.alloc(asked));
    };
    const taken: { size: number; done: () => void }[] = [];
    const reading = eachMessage(stream, ({ length: size }) => new Promise<void>((done) => taken.push({ size, done })));
    for (const size of [1, 2, 3]) {
      await settled();
      expect([asked, taken.at(-1)?.size]).toEqual([size, size]);
      taken.at(-1)?.done();
    }
    await reading;
    expect(taken).toHaveLength(3);
  });

  it('are taken one by one also where the stream has read ahead', async () => {
    const taken: { size: number; done: () => void }[] = [];
    const reading = eachMessage(stream, ({ length: size }) => new Promise<void>((done) => taken.push({ size, done })));
    for (const size of [1, 2, 3]) stream.push(Buffer.alloc(size));
    stream.push(null);
    for (const size of [1, 2, 3]) {
      await settled();
      expect(taken.map((one) => one.size)).toEqual([1, 2, 3].slice(0, size));
      taken.at(-1)?.done();
    }
    await reading;
  });

  it('are taken until one cannot be handled, and no listener is left behind', async () => {
    const before = stream.eventNames().map((name) => stream.listenerCount(name));
    const sizes: number[] = [];
    const take = ({ length }: Buffer): void => {
      if (length === 3) throw new Error('not this one');
      sizes.push(length);
    };
    const reading = eachMessage(stream, take);
    for (const size of [1, 2, 3, 4]) stream.push(Buffer.alloc(size));
    await expect(reading).rejects.toThrow('not this one');
    expect([sizes, stream.destroyed]).toEqual([[1, 2], false]);
    expect(stream.eventNames().map((name) => stream.listenerCount(name))).toEqual(before);
  });

  it.each([
    ['their handler', (): Promise<void> => Promise.reject(new Error('it fails'))],
    ['the stream', (): void => void stream.destroy(new Error('it fails'))],
  ])('are taken until %s fails', async (_name, take) => {
    const reading = eachMessage(stream, take);
    stream.push(Buffer.alloc(1));
    await expect(reading).rejects.toThrow('it fails');
  });
});
