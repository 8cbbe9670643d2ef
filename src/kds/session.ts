// One stream, either role: bytes in, bytes out. Reading never waits on writing (SPEC.md, 14486). Output is bounded: one response in
// flight per type, no new response while others wait to be sent, and no more answers than a correct peer leaves unread. The first
// error ends the stream.
import { finished, type Duplex } from 'node:stream';
import { MeridianError } from '../base/errors.ts';
import { decodeDeltaRequest, decodeDeltaRequestInSteps } from '../wire/kds-messages.ts';
import { atOnce, type Pace } from './pace.ts';
import type { Receiver } from './receiver.ts';
import type { Sender } from './sender.ts';

/** Answers that may wait in this process. A peer with one response in flight per type never exceeds the number of types. */
const MAX_UNREAD = 100;

/** Requests up to this size are decoded at once: an acknowledgement has about 100 bytes, and steps would cost more. */
const SMALL_BYTES = 4 * 1024;

/** Answers the requests of a peer until it ends the stream. Rejects on a broken stream or an invalid message. */
export async function serve(stream: Duplex, sender: Sender, pace: Pace = atOnce): Promise<void> {
  stream.on('drain', () => sender.drained());
  try {
    await sender.ready();
    for await (const bytes of messagesOf(stream)) {
      const request = bytes.length <= SMALL_BYTES ? decodeDeltaRequest(bytes) : await pace.run(decodeDeltaRequestInSteps(bytes));
      await sender.prepare(request);
      sender.handle(request);
    }
  } finally {
    sender.close();
  }
}

/**
 * Subscribes and stores what the peer sends until it ends the stream. Rejects if the store fails or the peer breaks the protocol.
 * @param inTurn runs a task when no other stream of the peer runs one
 */
export async function consume(stream: Duplex, receiver: Receiver, inTurn: InTurnOfPeer = (task) => task()): Promise<void> {
  try {
    await receiver.start();
    for await (const bytes of messagesOf(stream)) {
      await inTurn(() => receiver.take(bytes));
      if (stream.writableLength > MAX_UNREAD)
        throw new MeridianError('bad_request', 'the peer sends responses and does not read the answers');
    }
  } finally {
    receiver.close();
  }
}

type InTurnOfPeer = (task: () => Promise<void>) => Promise<void>;

/**
 * The messages of a stream. Each is read after the one before it was handled, so later messages wait on the side of the peer.
 * `stream.iterator()` would destroy the stream when the reader fails or the stream ends with an error, and the final status could
 * not be sent.
 */
export async function* messagesOf(stream: Duplex): AsyncGenerator<Buffer, void, undefined> {
  const readNext = readOneByOne(stream);
  let wake = (): void => undefined;
  /** Null after a regular end of the stream. */
  let end: Error | null | undefined;
  const onReadable = (): void => wake();
  stream.on('readable', onReadable);
  const stop = finished(stream, { writable: false }, (error) => {
    end = error ?? null;
    wake();
  });
  try {
    for (;;) {
      const message: unknown = stream.destroyed ? null : stream.read();
      if (message !== null) {
        yield message as Buffer;
        readNext();
      } else if (end instanceof Error) throw end;
      else if (end === null) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    stream.off('readable', onReadable);
    stop();
  }
}

/**
 * Disables read-ahead: a Readable of objects reads 16 messages ahead, and each may be large.
 * @returns a function that allows the next read
 */
function readOneByOne(stream: Duplex): () => void {
  const read = stream._read.bind(stream);
  let isUnhandled = false;
  let isWanted = false;
  stream._read = (size) => {
    if (isUnhandled) isWanted = true;
    else {
      isUnhandled = true;
      read(size);
    }
  };
  return () => {
    isUnhandled = isWanted;
    if (!isWanted) return;
    isWanted = false;
    read(0);
  };
}
