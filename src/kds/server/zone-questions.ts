// The questions of zones to global. A zone asks about its own resources alone; global answers a limited number at the same time.
import { MeridianError } from '../../base/errors.ts';
import { exhausted } from '../../grpc/status.ts';

/** The number of questions of one zone that are answered at the same time. */
const MAX_OF_ZONE = 16;

/** @property hasHashedNames whether the rows of the zone have hashed names on global */
export type Asker = { readonly zone: string; readonly hasHashedNames: boolean };

/** Answers with bytes. Rejects with a MeridianError that says why there is no answer. */
export type AnswerZone = (asker: Asker, question: Buffer, signal: AbortSignal) => Promise<Buffer>;

/** Gives no answer, as an older Meridian does. */
export const answerNothing: AnswerZone = () =>
  Promise.reject(new MeridianError('unavailable', 'this global answers no questions of zones'));

export class ZoneQuestions {
  readonly #answer: AnswerZone;
  readonly #asked = new Map<string, number>();

  constructor(answer: AnswerZone) {
    this.#answer = answer;
  }

  /** @throws StatusError RESOURCE_EXHAUSTED when the zone asks too much at the same time */
  async answer(asker: Asker, question: Buffer, signal: AbortSignal): Promise<Buffer> {
    const asked = this.#asked.get(asker.zone) ?? 0;
    if (asked >= MAX_OF_ZONE)
      throw exhausted(`${String(MAX_OF_ZONE)} questions of zone ${asker.zone} are being answered; ask again later`);
    this.#asked.set(asker.zone, asked + 1);
    try {
      return await this.#answer(asker, question, signal);
    } finally {
      const left = (this.#asked.get(asker.zone) ?? 1) - 1;
      if (left === 0) this.#asked.delete(asker.zone);
      else this.#asked.set(asker.zone, left);
    }
  }
}
