// One stream, either role: bytes in, bytes out. Reading never waits on writing (design 7, 14486). What is written is bounded: one
// response in flight per type, none made while others wait here to be sent, and no more answers than an honest peer leaves unread.
// A stream ends with the first thing that goes wrong on it.
import type { Duplex } from 'node:stream';
import { MeridianError } from '../base/errors.ts';
import { decodeDeltaRequest, decodeDeltaResponse } from '../wire/kds-messages.ts';
import type { Receiver } from './receiver.ts';
import type { Sender } from './sender.ts';

/** Answers that may wait in this process. Whoever keeps to one response in flight per type never has more than types. */
const MOST_UNREAD = 100;

/** Answers the requests of a peer until it ends the stream. Rejects on a broken stream or a message that is none. */
export async function serve(stream: Duplex, sender: Sender): Promise<void> {
  stream.on('drain', () => sender.drained());
  try {
    await sender.ready();
    for await (const bytes of messagesOf(stream)) sender.handle(decodeDeltaRequest(bytes as Buffer));
  } finally {
    sender.close();
  }
}

/** Subscribes and stores what the peer sends until it ends the stream. Rejects if the store fails or the peer lies. */
export async function consume(stream: Duplex, receiver: Receiver): Promise<void> {
  await receiver.start();
  for await (const bytes of messagesOf(stream)) {
    await receiver.handle(decodeDeltaResponse(bytes as Buffer));
    if (stream.writableLength > MOST_UNREAD)
      throw new MeridianError('bad_request', 'the peer sends response after response and reads none of the answers');
  }
}

/** Leaves the stream open when the reader fails: only then can the peer be told with which status it ends. */
export function messagesOf(stream: Duplex): AsyncIterable<unknown> {
  return stream.iterator({ destroyOnReturn: false }) as AsyncIterable<unknown>;
}
