// One stream of a zone from its call to its end. Invariants: it ends once, with the status of the first error; what it holds of this
// process is given back at its end.
import { randomUUID } from 'node:crypto';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { CallPermit } from '../../grpc/call-permit.ts';
import { canceled, isOwnFailure, statusOf } from '../../grpc/status.ts';
import type { Caller } from '../protocol/peer-metadata.ts';
import type { StreamKind } from '../protocol/sync-events.ts';

export type Call = ServerDuplexStream<Buffer, Buffer>;

/** A stream, for the work on it. */
export type Stream = Caller & {
  readonly kind: StreamKind;
  readonly call: Call;
  readonly streamId: string;
  readonly log: Logger;
  /** Ends the stream with the status of the error, which is also the reason that is logged; the first counts. */
  readonly end: (error: unknown) => void;
};

export class StreamLife {
  readonly stream: Stream;
  readonly permit: CallPermit;
  /** It is true when the stream was admitted, and its work has begun. */
  isOpen = false;
  readonly #entrance = Promise.withResolvers<undefined>();
  readonly #held: (() => void)[] = [];
  #error: unknown = null;

  constructor(kind: StreamKind, call: Call, caller: Caller, permit: CallPermit, log: Logger) {
    this.permit = permit;
    this.stream = { ...caller, kind, call, streamId: randomUUID(), log, end: (error) => this.#end(error) };
    call.once('cancelled', () => {
      permit.leave();
      this.enter();
    });
    call.on('error', () => undefined);
  }

  /** Lets the stream open now. */
  enter(): void {
    this.#entrance.resolve(undefined);
  }

  /** Whether the zone or this process has ended it. */
  get isOver(): boolean {
    return this.#error !== null || this.stream.call.cancelled;
  }

  /** The reason why it is over. */
  get reason(): string {
    return messageOf(this.#error ?? canceled('the zone ended the stream'));
  }

  /** Settles when the stream may open, or is over. */
  async awaitAdmission(): Promise<void> {
    await this.#entrance.promise;
  }

  /** Whether this process refused it because of the caller. A zone that has left was not refused. */
  get wasRefused(): boolean {
    return !this.isOpen && this.#error !== null && !isOwnFailure(this.#error);
  }

  /** @param giveBack is called at the end of the stream, the last one first */
  holds(giveBack: () => void): void {
    this.#held.push(giveBack);
  }

  giveBack(): void {
    for (const each of this.#held.splice(0).reverse()) each();
  }

  #end(error: unknown): void {
    if (this.#error !== null) return;
    this.#error = error;
    this.enter();
    const { call } = this.stream;
    if (!call.destroyed && !call.cancelled) call.emit('error', statusOf(error));
  }
}
