// One stream, either role: bytes in, bytes out. Reading never waits on writing (SPEC.md, 14486). Output is bounded: one response in
// flight per type, no new response while others wait to be sent, and no more answers than a correct peer leaves unread. The first
// error ends the stream.
import type { Duplex } from 'node:stream';
import { MeridianError } from '../base/errors.ts';
import { eachMessage } from '../grpc/messages-of.ts';
import { decodeDeltaRequest, decodeDeltaRequestInSteps, type DeltaRequest } from '../wire/kds-messages.ts';
import { takeEach } from './protocol/bundles.ts';
import { atOnce, SMALL_BYTES, type Pace } from './protocol/pace.ts';
import type { Receiver } from './receiver/receiver.ts';
import type { Sender } from './sender/sender.ts';

/**
 * The number of answers that may wait in this process. A peer with one response in flight per type never exceeds the number of
 * types.
 */
const MAX_UNREAD = 100;

/** Answers the requests of a peer until it ends the stream. Rejects on a broken stream or an invalid message. */
export async function serve(stream: Duplex, sender: Sender, pace: Pace = atOnce): Promise<void> {
  stream.on('drain', () => sender.drained());
  try {
    await sender.ready();
    const handle = (request: DeltaRequest): void | Promise<void> => {
      const rows = sender.prepare(request);
      return rows === null ? sender.handle(request) : rows.then(() => sender.handle(request));
    };
    const take = (bytes: Uint8Array): void | Promise<void> =>
      bytes.length <= SMALL_BYTES ? handle(decodeDeltaRequest(bytes)) : pace.run(decodeDeltaRequestInSteps(bytes)).then(handle);
    await eachMessage(stream, (bytes) => takeEach(bytes, take));
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
    await eachMessage(stream, async (bytes) => {
      await inTurn(async () => takeEach(bytes, (message) => receiver.take(message)));
      if (stream.writableLength > MAX_UNREAD)
        throw new MeridianError('bad_request', 'the peer sends responses and does not read the answers');
    });
  } finally {
    receiver.close();
  }
}

type InTurnOfPeer = (task: () => Promise<void>) => Promise<void>;
