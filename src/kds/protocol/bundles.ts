// Small messages of one stream, several as one (decision 83): a zone that connects exchanges about a hundred and fifty, and gRPC costs more
// for each than its content does. Invariants: the order of messages stays; a peer that does not read bundles gets none; a bundle is bounded,
// for both sides.
import type { Writable } from 'node:stream';
import { MeridianError } from '../../base/errors.ts';
import { decodeBundle, encodeBundle, isBundle } from '../../wire/bundle.ts';

/** A larger message is sent alone. */
const MAX_SMALL_BYTES = 4 * 1024;
/** The limit of a bundle, in bytes. */
const MAX_BYTES = 64 * 1024;
const MAX_MESSAGES = 128;

type Take = (message: Uint8Array) => void | Promise<void>;

/** The messages to one peer. Those of one turn of the event loop leave together. */
export type Outbox = {
  /** Sends the message at the end of the turn. */
  readonly send: (message: Buffer) => void;
  /** Sends the message with the next `flush`. */
  readonly put: (message: Buffer) => void;
  /** Sends all waiting messages now. */
  readonly flush: () => void;
};

/** @param readsBundles whether the peer named the feature; each message of another peer leaves alone and at once */
export function createOutbox(stream: Writable, readsBundles: boolean): Outbox {
  const write = (bytes: Buffer): void => {
    if (!stream.writableEnded && !stream.destroyed) stream.write(bytes);
  };
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  const flush = (): void => {
    const [first] = waiting;
    if (first === undefined) return;
    write(waiting.length === 1 ? first : encodeBundle(waiting));
    waiting = [];
    waitingBytes = 0;
  };
  const put = (message: Buffer): void => {
    const isFull = waiting.length >= MAX_MESSAGES || waitingBytes >= MAX_BYTES - 2 * MAX_SMALL_BYTES;
    if (isFull || message.length > MAX_SMALL_BYTES) flush();
    if (message.length > MAX_SMALL_BYTES) return write(message);
    waiting.push(message);
    waitingBytes += message.length;
  };
  const send = (message: Buffer): void => {
    put(message);
    if (waiting.length === 1) setImmediate(flush);
  };
  return readsBundles ? { send, put, flush } : { send: write, put: write, flush: () => undefined };
}

/**
 * Calls `take` with the message, or with each message of a bundle, the next one when it has returned or its promise has settled.
 * @throws MeridianError `bad_request` for a bundle over the limits, Error for a broken one; the promise rejects with the same
 * errors
 */
export function takeEach(bytes: Uint8Array, take: Take): void | Promise<void> {
  if (!isBundle(bytes)) return take(bytes);
  if (bytes.length > MAX_BYTES) throw tooLarge(`${String(bytes.length)} bytes`, `${String(MAX_BYTES)} bytes`);
  const messages = decodeBundle(bytes);
  if (messages.length > MAX_MESSAGES) throw tooLarge(`${String(messages.length)} messages`, String(MAX_MESSAGES));
  return takeFrom(messages.values(), take);
}

function takeFrom(messages: Iterator<Uint8Array>, take: Take): void | Promise<void> {
  for (let next = messages.next(); next.done !== true; next = messages.next()) {
    const taking = take(next.value);
    if (taking instanceof Promise) return taking.then(() => takeFrom(messages, take));
  }
}

function tooLarge(has: string, limit: string): MeridianError {
  return new MeridianError('bad_request', `a bundle of messages has ${has}; it may have ${limit}`);
}
