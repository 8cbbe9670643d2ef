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
