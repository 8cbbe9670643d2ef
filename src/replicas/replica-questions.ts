// The questions of replicas to each other, about any subject. Questions and answers are marks of the change feed, so they need no table, no
// port between replicas, and cost nothing without a question. Invariants: an answer fits a notification of PostgreSQL, or comes in parts; a
// question has a time limit, and ends with its caller; a lost mark costs its question no more than that time.
import { randomUUID } from 'node:crypto';
import { isObject } from '../resource/read-json.ts';
import { FeedFollower, type Following, type Hints } from '../store/follow-feed.ts';
import type { ResourceStore } from '../store/resource-store.ts';

/** The limit of the JSON of a part, in bytes. In base64 and as JSON it stays below the 8,000 bytes of a notification. */
const MAX_PART_BYTES = 5_000;
/** Milliseconds that an answer may take beside the time that the question itself waits: the feed of both sides, under load. */
const ANSWER_MS = 2_000;
/** The number of answers about one subject that this process gives at the same time. */
const MAX_ANSWERS = 64;

/** A part of an answer about one key, such as a zone. Its JSON must be shorter than 5,000 bytes. */
export type AnswerRow = readonly [key: string, ...rest: unknown[]];

type Asked<Q> = { readonly id: string; readonly by: string; readonly question: Q };
type Part<R> = { readonly id: string; readonly by: string; readonly rows: readonly R[] };

/** A question, an answer, and the end of a question whose caller has gone. */
type Kind = '?' | '!' | '-';
/** Subject, kind, and the message. */
const MARK = /^([a-z]+) ([?!-]) ([\w-]+)$/;

/** Finds the rows that a replica knows. */
export type AnswerQuestion<Q, R> = (question: Q, signal: AbortSignal) => Promise<readonly R[]>;

/** The questions about one subject. */
export interface Subject<Q, R extends AnswerRow> {
  /**
   * Asks every other replica. Resolves when there is a row for each of these keys, or the time is over; then some may be missing.
   * The first row of a key counts. Rejects when the store does not answer.
   * @param waitMs the milliseconds that the question allows the other replica
   */
  ask(question: Q, keys: ReadonlySet<string>, waitMs: number, signal: AbortSignal): Promise<Map<string, R>>;
}

export type ReplicaQuestionsOptions = Following & {
  readonly store: Pick<ResourceStore, 'changes' | 'mark'>;
  readonly instanceId: string;
};

export class ReplicaQuestions {
  readonly #options: ReplicaQuestionsOptions;
  readonly #subjects = new Map<string, OpenSubject<unknown, AnswerRow>>();

  constructor(options: ReplicaQuestionsOptions) {
    this.#options = options;
  }

  /** Adds a subject, which every replica answers. @param name a word of small letters that begins its marks */
  about<Q, R extends AnswerRow>(name: string, answer: AnswerQuestion<Q, R>): Subject<Q, R> {
    const subject = new OpenSubject(this.#options, name, answer);
    this.#subjects.set(name, subject as unknown as OpenSubject<unknown, AnswerRow>);
    return subject;
  }

  /** Answers the questions of other replicas about all subjects until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#options;
    const subjectOf = (mark: string): OpenSubject<unknown, AnswerRow> | undefined =>
      this.#subjects.get(MARK.exec(mark)?.[1] ?? '');
    const isMark = (mark: string): boolean => subjectOf(mark) !== undefined;
    const follower = new FeedFollower({ store, clock, log, types: [], isMark });
    await follower.run(async ({ marks }: Hints) => {
      for (const mark of marks) subjectOf(mark)?.take(mark, signal);
    }, signal);
  }
}

class OpenSubject<Q, R extends AnswerRow> implements Subject<Q, R> {
  readonly #options: ReplicaQuestionsOptions;
  readonly #name: string;
  readonly #answer: AnswerQuestion<Q, R>;
  readonly #waiting = new Map<string, (rows: readonly R[]) => void>();
  /** The answers under way, by the id of the question. */
  readonly #answering = new Map<string, AbortController>();

  constructor(options: ReplicaQuestionsOptions, name: string, answer: AnswerQuestion<Q, R>) {
    this.#options = options;
    this.#name = name;
    this.#answer = answer;
  }

  async ask(question: Q, keys: ReadonlySet<string>, waitMs: number, signal: AbortSignal): Promise<Map<string, R>> {
    const id = randomUUID();
    const found = new Map<string, R>();
    const missing = new Set(keys);
    const all = Promise.withResolvers<void>();
    this.#waiting.set(id, (rows) => {
      for (const row of rows) if (missing.delete(row[0])) found.set(row[0], row);
      if (missing.size === 0) all.resolve();
    });
    const done = new AbortController();
    try {
      await this.#send('?', { question, id, by: this.#options.instanceId } satisfies Asked<Q>);
      const either = AbortSignal.any([signal, done.signal]);
      const limit = this.#options.clock.sleep(waitMs + ANSWER_MS, either, { ref: false });
      await Promise.race([all.promise, limit]);
      return found;
    } finally {
      done.abort();
      this.#waiting.delete(id);
      if (waitMs > 0 && signal.aborted && missing.size > 0) this.#takeBack(id);
    }
  }

  /** The other replicas would wait on, and answer only a limited number of questions. */
  #takeBack(id: string): void {
    const { instanceId, log } = this.#options;
    this.#send('-', { id, by: instanceId }).catch((error: unknown) => log.debug({ err: error }, 'a question was not taken back'));
  }

  /** Takes a mark of this subject. */
  take(mark: string, signal: AbortSignal): void {
    const { instanceId, log } = this.#options;
    const read = messageIn<Q, R>(mark);
    if (read === null) return;
    if (read.kind === '!') return this.#waiting.get(read.part.id)?.(read.part.rows);
    if (read.kind === '-') return this.#answering.get(read.id)?.abort();
    const { id, by } = read.asked;
    if (by === instanceId || this.#answering.size >= MAX_ANSWERS || this.#answering.has(id)) return;
    const takenBack = new AbortController();
    this.#answering.set(id, takenBack);
    void this.#reply(read.asked, AbortSignal.any([signal, takenBack.signal]))
      .catch((error: unknown) => log.debug({ err: error }, 'the question of another replica was not answered'))
      .finally(() => this.#answering.delete(id));
  }

  async #reply({ id, question }: Asked<Q>, signal: AbortSignal): Promise<void> {
    const { instanceId } = this.#options;
    for (const rows of partsOf(await this.#answer(question, signal))) {
      if (signal.aborted) return;
      await this.#send('!', { id, by: instanceId, rows });
    }
  }

  async #send(kind: Kind, message: Asked<Q> | Part<R> | Pick<Asked<Q>, 'id' | 'by'>): Promise<void> {
    await this.#options.store.mark(`${this.#name} ${kind} ${Buffer.from(JSON.stringify(message)).toString('base64url')}`);
  }
}

type Read<Q, R> =
  | { readonly kind: '?'; readonly asked: Asked<Q> }
  | { readonly kind: '!'; readonly part: Part<R> }
  | { readonly kind: '-'; readonly id: string };

/** Returns null for a mark that is not of these kinds: anyone who may connect to the database can send one. */
function messageIn<Q, R extends AnswerRow>(mark: string): Read<Q, R> | null {
  const [, , kind, text = ''] = MARK.exec(mark) ?? [];
  let message: unknown;
  try {
    message = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return null;
  }
  if (!isObject(message)) return null;
  const { id, by, rows } = message;
  if (typeof id !== 'string' || typeof by !== 'string') return null;
  if (kind === '?') return 'question' in message ? { kind, asked: { id, by, question: message['question'] as Q } } : null;
  if (kind === '-') return { kind, id };
  if (kind !== '!' || !Array.isArray(rows)) return null;
  const isRow = (row: unknown): boolean => Array.isArray(row) && typeof row[0] === 'string';
  return { kind, part: { id, by, rows: (rows as unknown[]).filter(isRow) as R[] } };
}

function* partsOf<R>(rows: readonly R[]): Generator<R[]> {
  let part: R[] = [];
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
