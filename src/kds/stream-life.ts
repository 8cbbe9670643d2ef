// One stream of a zone from its call to its end. Invariants: it ends once, with the status of the first error; what it holds of this
// process is given back at its end.
import { randomUUID } from 'node:crypto';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { canceled, isOwnFailure, statusOf } from '../grpc/status.ts';
import type { Caller } from './peer-metadata.ts';
import type { StreamKind } from './sync-events.ts';

export type Call = ServerDuplexStream<Buffer, Buffer>;

/** A stream, for the work on it. */
export type Stream = Caller & {
  readonly kind: StreamKind;
  readonly call: Call;
  readonly streamId: string;
  readonly log: Logger;
  /** Ends it with the status of the error, which is also the reason that is logged; the first counts. */
  readonly end: (error: unknown) => void;
};

export class StreamLife {
  readonly stream: Stream;
  readonly address: string;
  /** It was admitted, and its work has begun. */
  isOpen = false;
  readonly #turn = Promise.withResolvers<undefined>();
  readonly #held: (() => void)[] = [];
  #error: unknown = null;
  #gaveUp = false;

  constructor(kind: StreamKind, call: Call, caller: Caller, log: Logger) {
    this.address = call.getPeer();
    this.stream = { ...caller, kind, call, streamId: randomUUID(), log, end: (error) => this.#end(error) };
    call.once('cancelled', () => this.giveTurn());
    call.on('error', () => undefined);
  }

  /** The stream may open now. */
  giveTurn(): void {
    this.#turn.resolve(undefined);
  }

  /** The zone or this process has ended it. */
  get isOver(): boolean {
    return this.#error !== null || this.stream.call.cancelled;
  }

  /** Why it is over. */
  get reason(): string {
    return messageOf(this.#error ?? canceled('the zone ended the stream'));
  }

  /** Settles when the stream may open, or is over. */
  async awaitTurn(): Promise<void> {
    await this.#turn.promise;
    this.#gaveUp = this.#error === null && this.stream.call.cancelled;
  }

  /** This process refused it because of the caller. A zone that did not wait for its turn was not refused. */
  get wasRefused(): boolean {
    return !this.isOpen && !this.#gaveUp && !isOwnFailure(this.#error ?? canceled(''));
  }

  /** @param giveBack called at the end of the stream, the last one first */
  holds(giveBack: () => void): void {
    this.#held.push(giveBack);
  }

  giveBack(): void {
    for (const each of this.#held.splice(0).reverse()) each();
  }

  #end(error: unknown): void {
    if (this.#error !== null) return;
    this.#error = error;
    this.giveTurn();
    const { call } = this.stream;
    if (!call.destroyed && !call.cancelled) call.emit('error', statusOf(error));
  }
}
