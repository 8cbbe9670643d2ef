// Questions of one replica to the others: what became of a change at the zones that are connected there. Questions and answers are marks
// of the change feed, so they need no table, no port between replicas, and cost nothing while nobody asks. Invariants: an answer fits
// a notification of PostgreSQL, or comes in parts; a question has a time limit; a lost mark costs its question no more than that time.
import { randomUUID } from 'node:crypto';
import type { ResourceKey } from '../resource/types.ts';
import { FeedFollower, type Following, type Hints } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { Delivery, PeerState } from './recent-changes.ts';

const MARK = /^receipt ([?!]) ([\w-]+)$/;
/** Bytes of the JSON of a part. In base64 and as JSON it stays below the 8,000 bytes of a notification. */
const MAX_PART_BYTES = 5_000;
/** Characters of a reason in an answer. */
const MAX_REASON = 200;
/** Milliseconds that an answer may take beside the time that the question itself waits: the feed of both sides, under load. */
const ANSWER_MS = 2_000;
/** Answers that this process gives at the same time. */
const MAX_ANSWERS = 64;

export type Question = ResourceKey & {
  readonly version: number | null;
  /** How long the other replica may wait for acknowledgements, in milliseconds. */
  readonly waitMs: number;
};

/** Zone → what became of the change there. */
export type Deliveries = ReadonlyMap<string, Delivery>;

type Asked = Question & { readonly id: string; readonly by: string };
type Row = readonly [zone: string, state: PeerState, sentMs: number | null, acknowledgedMs: number | null, reason: string | null];
type Part = { readonly id: string; readonly by: string; readonly rows: readonly Row[] };

type Store = Pick<ResourceStore, 'changes' | 'mark'>;
export type Answerer = (question: Question, signal: AbortSignal) => Promise<Deliveries>;

export class ReplicaQuestions {
  readonly #store: Store;
  readonly #following: Following;
  readonly #instanceId: string;
  readonly #answer: Answerer;
  readonly #waiting = new Map<string, (rows: readonly Row[]) => void>();
  #answering = 0;

  constructor(store: Store, instanceId: string, following: Following, answer: Answerer) {
    this.#store = store;
    this.#instanceId = instanceId;
    this.#following = following;
    this.#answer = answer;
  }

  /** Answers the questions of other replicas until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const follower = new FeedFollower({ ...this.#following, store: this.#store, types: [], isMark: (id) => MARK.test(id) });
    await follower.run(async ({ marks }: Hints) => {
      for (const mark of marks) this.#take(mark, signal);
    }, signal);
  }

  /**
   * Asks every other replica. Resolves when all these zones are answered for, or the time is over; then some may be missing. Rejects when
   * the store does not answer.
   */
  async ask(question: Question, zones: ReadonlySet<string>, signal: AbortSignal): Promise<Deliveries> {
    const id = randomUUID();
    const found = new Map<string, Delivery>();
    const missing = new Set(zones);
    const all = Promise.withResolvers<void>();
    this.#waiting.set(id, (rows) => {
      for (const [zone, state, sentMs, acknowledgedMs, reason] of rows) {
        if (!missing.delete(zone)) continue;
        found.set(zone, { state, sentMs, acknowledgedMs, reason });
      }
      if (missing.size === 0) all.resolve();
    });
    const done = new AbortController();
    try {
      await this.#send('?', { ...question, id, by: this.#instanceId } satisfies Asked);
      const limit = this.#following.clock.sleep(question.waitMs + ANSWER_MS, AbortSignal.any([signal, done.signal]), {
        ref: false,
      });
      await Promise.race([all.promise, limit]);
      return found;
    } finally {
      done.abort();
      this.#waiting.delete(id);
    }
  }

  #take(mark: string, signal: AbortSignal): void {
    const [, kind, text = ''] = MARK.exec(mark) ?? [];
    const message = JSON.parse(Buffer.from(text, 'base64url').toString()) as Asked | Part;
    if (kind === '!' && 'rows' in message) this.#waiting.get(message.id)?.(message.rows);
    if (kind !== '?' || 'rows' in message || message.by === this.#instanceId || this.#answering >= MAX_ANSWERS) return;
    this.#answering += 1;
    void this.#reply(message, signal)
      .catch((error: unknown) => this.#following.log.debug({ err: error }, 'the question of another replica was not answered'))
      .finally(() => (this.#answering -= 1));
  }

  async #reply(asked: Asked, signal: AbortSignal): Promise<void> {
    const { id } = asked;
    const deliveries = await this.#answer(asked, signal);
    // A zone without a stream to this process may have one to another.
    const rows = [...deliveries].filter(([, { state }]) => state !== 'away').map(rowOf);
    for (const part of partsOf(rows)) await this.#send('!', { id, by: this.#instanceId, rows: part } satisfies Part);
  }

  async #send(kind: '?' | '!', message: Asked | Part): Promise<void> {
    await this.#store.mark(`receipt ${kind} ${Buffer.from(JSON.stringify(message)).toString('base64url')}`);
  }
}

function rowOf([zone, { state, sentMs, acknowledgedMs, reason }]: readonly [string, Delivery]): Row {
  return [zone, state, sentMs, acknowledgedMs, reason?.slice(0, MAX_REASON) ?? null];
}

function* partsOf(rows: readonly Row[]): Generator<Row[]> {
  let part: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = Buffer.byteLength(JSON.stringify(row)) + 1;
    if (bytes + size > MAX_PART_BYTES && part.length > 0) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(row);
    bytes += size;
  }
  if (part.length > 0) yield part;
}
