// The messages of a stream, read one by one: a peer cannot make this process hold more of them than it handles.
import { finished, type Duplex } from 'node:stream';

/**
 * The messages of a stream. Each is read after the one before it was handled, so later messages wait on the side of the peer.
 * `stream.iterator()` would destroy the stream when the reader fails or the stream ends with an error, and the final status could
 * not be sent.
 */
export async function* messagesOf(stream: Duplex): AsyncGenerator<Buffer, void, undefined> {
  const readNext = readOneByOne(stream);
  let wake = (): void => undefined;
  /** It is null after a regular end of the stream. */
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
 * Calls `take` with each message of a stream, and reads the next one when it has returned, or when its promise has settled. It
 * does what `messagesOf` does without the promises for each message: thousands of proxies answer each change. Resolves at a
 * regular end of the stream; rejects with the error of the stream or of `take`.
 */
export async function eachMessage(stream: Duplex, take: (message: Buffer) => void | Promise<void>): Promise<void> {
  const readNext = readOneByOne(stream);
  const done = Promise.withResolvers<void>();
  let isTaking = false;
  let isOver = false;
  /** It is null after a regular end of the stream. */
  let end: Error | null | undefined;
  const fail = (error: unknown): void => {
    isOver = true;
    done.reject(error);
  };
  const endIfDone = (): void => {
    if (isTaking || isOver || end === undefined) return;
    if (end === null) done.resolve();
    else fail(end);
  };
  const taken = (): void => {
    isTaking = false;
    stream.resume();
    readNext();
    endIfDone();
  };
  // The next message is not read before this one was handled, so it flows without waiting for a turn of its own.
  const onMessage = (message: Buffer): void => {
    if (isOver) return;
    try {
      const taking = take(message);
      if (taking instanceof Promise) {
        isTaking = true;
        // The stream may have read ahead.
        stream.pause();
        taking.then(taken, fail);
      } else readNext();
    } catch (error) {
      fail(error);
    }
  };
  stream.on('data', onMessage);
  const stop = finished(stream, { writable: false }, (error) => {
    end = error ?? null;
    endIfDone();
  });
  try {
    await done.promise;
  } finally {
    stream.off('data', onMessage);
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
