// A Meridian sender with a recorded peer: it gets the requests of the peer and records its responses.
// Invariant: only the nonce of a recorded request is replaced, by the nonce of the corresponding response.
import type { Sender } from '../../src/kds/sender/sender.ts';
import { decodeDeltaResponse, type DeltaRequest, type DeltaResponse } from '../../src/wire/kds-messages.ts';

export class ReplayedSender {
  /** Every response, oldest first. */
  readonly sent: DeltaResponse[] = [];
  readonly #sender: Sender;
  /** Type → nonce of the one response that waits for its answer. */
  readonly #unanswered = new Map<string, string>();

  constructor(create: (send: (message: Buffer) => void) => Sender) {
    this.#sender = create((message) => {
      const response = decodeDeltaResponse(message);
      this.sent.push(response);
      this.#unanswered.set(response.typeUrl, response.nonce);
    });
  }

  /** @returns false for an answer to a response that our side did not send */
  feed(request: DeltaRequest): boolean {
    if (request.responseNonce === '') {
      this.#sender.handle(request);
      return true;
    }
    const nonce = this.#unanswered.get(request.typeUrl);
    if (nonce === undefined) return false;
    this.#unanswered.delete(request.typeUrl);
    this.#sender.handle({ ...request, responseNonce: nonce });
    return true;
  }

  /** Acknowledges the responses without a recorded answer, as `peer` would. @returns whether there were any */
  acknowledgeRest(peer: string): boolean {
    const types = [...this.#unanswered.keys()];
    for (const typeUrl of types)
      this.feed({
        ...{ node: { id: peer }, typeUrl, subscribe: [], unsubscribe: [], initialResourceVersions: new Map() },
        ...{ responseNonce: 'any', errorDetail: null },
      });
    return types.length > 0;
  }

  /** The types with an incomplete state on the peer. */
  behind(): string[] {
    return this.#sender.behind();
  }

  close(): void {
    this.#sender.close();
  }
}
