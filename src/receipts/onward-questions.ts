// The second hop: which other zones have a resource of this zone. Global has the receipts of that hop, and the zone asks it only for the
// request of a person. Only the leader is connected to global, so the other replicas ask the leader.
// Invariant: an answer has the state, or the reason why it is unknown; it never fails the receipt of the first hop.
import { z } from 'zod';
import { MeridianError } from '../base/errors.ts';
import { onwardRollout, onwardSummary } from '../answers/answer-parts.ts';
import type { GlobalLink } from '../kds/client/global-link.ts';
import { splitWireName } from '../kds/protocol/wire-name.ts';
import type { ReplicaQuestions, Subject } from '../replicas/replica-questions.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { Receipts } from './receipts.ts';
import { shortened, type Onward, type OnwardOfMany } from './rollout.ts';

/** The milliseconds that an answer of global may take beside the time that it waits for zones. */
const ANSWER_MS = 3_000;
/** The limit of the JSON of an answer to another replica, in bytes. */
const MAX_ROW_BYTES = 4_500;

/** The number of resources of one question about several. */
export const MAX_ASKED = 50;

/** A question of a zone. `name` is the name on the wire, without the mesh. */
export type OnwardQuestion = ResourceKey & { readonly waitMs: number };

const KUMA_NOTE = 'global is Kuma, which does not say which zones have it';
const OLD_GLOBAL_NOTE = 'global is an older version, which does not say which zones have it';
const FORGOTTEN = 'the last change of it is no longer kept here';

const onwardOfMany = z.object({
  items: z.array(z.object({ onward: onwardSummary.exactOptional(), onwardNote: z.string().exactOptional() })),
});

type Row = readonly [key: 'onward', answer: Onward];

export type OnwardQuestionsOptions = {
  readonly questions: ReplicaQuestions;
  readonly receipts: Pick<Receipts, 'isServing' | 'wireNameOf'>;
  readonly link: Pick<GlobalLink, 'kind' | 'ask'>;
};

export class OnwardQuestions {
  readonly #options: OnwardQuestionsOptions;
  readonly #questions: Subject<OnwardQuestion, Row>;

  constructor(options: OnwardQuestionsOptions) {
    this.#options = options;
    const { questions, receipts } = options;
    const answer = async ({ waitMs, ...key }: OnwardQuestion, signal: AbortSignal): Promise<Row[]> =>
      receipts.isServing ? [['onward', fitting(await this.#askGlobal(key, waitMs, signal))]] : [];
    this.#questions = questions.about('onward', answer);
  }

  /** @param key the key of the row in this zone @param waitMs the milliseconds that global may wait for the zones */
  async of(key: ResourceKey, waitMs: number, signal: AbortSignal): Promise<Onward> {
    if (this.#options.receipts.isServing) return await this.#askGlobal(key, waitMs, signal);
    const { type, mesh, name } = key;
    const rows = await this.#questions.ask({ type, mesh, name, waitMs }, new Set(['onward']), waitMs + ANSWER_MS, signal);
    const [, answer] = rows.get('onward') ?? [];
    return answer ?? unanswered('the replica of this zone that is connected to global did not answer');
  }

  /**
   * Asks about several resources, in their order, without the zones themselves: one question to global, which does not wait. Only
   * the replica that is connected to global can ask.
   * @param keys at most `MAX_ASKED`
   */
  async ofMany(keys: readonly ResourceKey[], signal: AbortSignal): Promise<OnwardOfMany[]> {
    const { receipts, link } = this.#options;
    const known = keys.map((key) => {
      const wireName = receipts.wireNameOf(key);
      return wireName === undefined ? null : { type: key.type, ...splitWireName(wireName) };
    });
    const asked = known.filter((key) => key !== null);
    const answers = link.kind === 'kuma' ? KUMA_NOTE : await this.#askGlobalOfMany(asked, signal);
    let at = 0;
    return known.map((key) => {
      if (key === null) return { onwardNote: FORGOTTEN };
      const index = at++;
      return typeof answers === 'string' ? { onwardNote: answers } : (answers[index] ?? { onwardNote: OLD_GLOBAL_NOTE });
    });
  }

  /** Asks global, or says in words why there is no answer. */
  async #askGlobalOfMany(resources: readonly ResourceKey[], signal: AbortSignal): Promise<readonly OnwardOfMany[] | string> {
    if (resources.length === 0) return [];
    try {
      const answer = await this.#options.link.ask(Buffer.from(JSON.stringify({ resources })), ANSWER_MS, signal);
      if (answer === null) return OLD_GLOBAL_NOTE;
      return parsedAs(onwardOfMany, answer).items;
    } catch (error) {
      if (!(error instanceof MeridianError)) throw error;
      return error.message;
    }
  }

  async #askGlobal(key: ResourceKey, waitMs: number, signal: AbortSignal): Promise<Onward> {
    const { receipts, link } = this.#options;
    if (link.kind === 'kuma') return { onwardNote: KUMA_NOTE, isAwaited: false };
    const wireName = receipts.wireNameOf(key);
    if (wireName === undefined) return unanswered(FORGOTTEN);
    const question: OnwardQuestion = { type: key.type, ...splitWireName(wireName), waitMs };
    try {
      const answer = await link.ask(Buffer.from(JSON.stringify(question)), waitMs + ANSWER_MS, signal);
      if (answer === null) return { onwardNote: OLD_GLOBAL_NOTE, isAwaited: false };
      return { onward: parsedAs(onwardRollout, answer) };
    } catch (error) {
      if (!(error instanceof MeridianError)) throw error;
      return unanswered(error.message);
    }
  }
}

function unanswered(onwardNote: string): Onward {
  return { onwardNote, isAwaited: true };
}

/** @throws MeridianError `unavailable` for an answer of another form */
function parsedAs<T>(schema: z.ZodType<T>, bytes: Buffer): T {
  try {
    return schema.parse(JSON.parse(bytes.toString()));
  } catch (cause) {
    throw new MeridianError('unavailable', 'global answered in a form that this version cannot read', { cause });
  }
}

/** The answer in one notification: with as many zones as fit. */
function fitting(answer: Onward): Onward {
  if (!('onward' in answer)) return answer;
  for (let { onward } = answer; ; onward = shortened(onward, Math.floor(onward.targets.length / 2)))
    if (onward.targets.length === 0 || Buffer.byteLength(JSON.stringify(onward)) <= MAX_ROW_BYTES) return { onward };
}
