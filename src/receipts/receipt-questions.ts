// Questions to the other replicas about receipts: the state of a change in the zones that are connected there.
import type { ReplicaQuestions, Subject } from '../replicas/replica-questions.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { DeliveryOfChange, DeliveryState } from '../kds/sender/delivery.ts';

/** The limit of a reason in an answer, in characters. */
const MAX_REASON = 200;

export type Question = ResourceKey & {
  readonly version: number | null;
  /** The milliseconds that the other replica may wait for acknowledgements. */
  readonly waitMs: number;
  /** The peer for which a replica answers that nothing of the resource is in its log. Without it such a replica does not answer. */
  readonly unlogged?: string;
};

/** The state of the change, by zone. */
type Deliveries = ReadonlyMap<string, DeliveryOfChange>;
/** The state of the change, by zone; null if nothing of the resource is in the log, or no replica has answered. */
export type Answers = ReadonlyMap<string, DeliveryOfChange | null>;

type Row = readonly [
  zone: string,
  state: DeliveryState | 'unlogged',
  sentMs: number | null,
  acknowledgedMs: number | null,
  reason: string | null,
];

/** Answers a question. @returns null if nothing of the resource is in the log */
export type Answerer = (question: Question, signal: AbortSignal) => Promise<Deliveries | null>;

export class ReceiptQuestions {
  readonly #questions: Subject<Question, Row>;

  constructor(questions: ReplicaQuestions, answer: Answerer) {
    const rows = async (question: Question, signal: AbortSignal): Promise<Row[]> => {
      const deliveries = await answer(question, signal);
      const { unlogged } = question;
      if (deliveries === null) return unlogged === undefined ? [] : [[unlogged, 'unlogged', null, null, null]];
      // A zone without a stream to this process may have one to another.
      return [...deliveries].filter(([, { state }]) => state !== 'away').map(rowOf);
    };
    this.#questions = questions.about('receipt', rows);
  }

  /**
   * Asks every other replica. Resolves when all these zones are answered for, or the time is over; then some may be missing. Rejects when
   * the store does not answer.
   */
  async ask(question: Question, zones: ReadonlySet<string>, signal: AbortSignal): Promise<Answers> {
    const rows = await this.#questions.ask(question, zones, question.waitMs, signal);
    return new Map(
      [...rows.values()].map(([zone, state, sentMs, acknowledgedMs, reason]) => [
        zone,
        state === 'unlogged' ? null : { state, sentMs, acknowledgedMs, reason },
      ]),
    );
  }
}

function rowOf([zone, { state, sentMs, acknowledgedMs, reason }]: readonly [string, DeliveryOfChange]): Row {
  return [zone, state, sentMs, acknowledgedMs, reason?.slice(0, MAX_REASON) ?? null];
}
