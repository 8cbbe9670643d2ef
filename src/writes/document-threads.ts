// Threads beside the control plane for documents of callers. Invariants: a caller has one thread at most, and callers take turns; a
// document has a time; the queues are bounded; work ends when its caller leaves; a thread exists only while documents come.
import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { YamlAnswer, YamlQuestion } from '../http/yaml-answers.ts';
import type { CheckAnswer, CheckQuestion } from './off-thread-check.ts';
import type { DocumentAnswer, DocumentQuestion } from './document-thread.ts';
import { ApiError } from '../http/error-body.ts';
import type { CallerWork } from '../http/caller-work.ts';

/** The number of threads: one caller at its worst leaves one to the others. */
const THREADS = 2;
/** The number of documents of one caller that wait, and of all. */
const MAX_WAITING_OF_CALLER = 16;
const MAX_WAITING = 128;
/** The limit of CPU for one document with the start of its thread, in milliseconds. A busy machine takes longer. */
const MAX_CPU_MS = 5_000;
const POLL_MS = 250;
/** The milliseconds without a question after which the threads end. */
const IDLE_MS = 30_000;
/** The milliseconds after its caller has left in which a document may still be finished: a new thread costs more. */
const LEAVE_MS = 50;
const RETRY_AFTER_S = 1;

type Job = {
  readonly question: DocumentQuestion;
  readonly left: AbortSignal;
  readonly resolve: (answer: DocumentAnswer) => void;
  readonly reject: (error: unknown) => void;
};

export class DocumentThreads {
  readonly #clock: Clock;
  /** The waiting jobs by caller, the caller whose turn is next first. */
  readonly #waiting = new Map<string, Job[]>();
  readonly #served = new Set<string>();
  readonly #idle: DocumentThread[] = [];
  readonly #busy = new Set<DocumentThread>();
  #cancelEnd = (): void => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Asks a thread.
   * @throws ApiError 400 for a document that takes too long, 429 or 503 when too many wait; the reason of `left`
   */
  async ask(question: YamlQuestion, work: CallerWork): Promise<YamlAnswer>;
  async ask(question: CheckQuestion, work: CallerWork): Promise<CheckAnswer>;
  async ask(question: DocumentQuestion, { caller, left }: CallerWork): Promise<DocumentAnswer> {
    left.throwIfAborted();
    const own = this.#waiting.get(caller) ?? [];
    const all = [...this.#waiting.values()].reduce((sum, { length }) => sum + length, 0);
    if (own.length >= MAX_WAITING_OF_CALLER) throw tooMany(429, 'Too many requests', 'of this caller');
    if (all >= MAX_WAITING) throw tooMany(503, 'Service unavailable', 'of all callers');
    const { promise, resolve, reject } = Promise.withResolvers<DocumentAnswer>();
    const job: Job = { question, left, resolve, reject };
    const leave = (): void => this.#forget(caller, job);
    left.addEventListener('abort', leave, { once: true });
    this.#waiting.set(caller, [...own, job]);
    this.#serve();
    return await promise.finally(() => left.removeEventListener('abort', leave));
  }

  async stop(): Promise<void> {
    this.#cancelEnd();
    await Promise.all([...this.#busy, ...this.#idle.splice(0)].map((thread) => thread.end()));
  }

  /** Drops a job: a document that waits is not begun. */
  #forget(caller: string, job: Job): void {
    const jobs = this.#waiting.get(caller);
    if (jobs?.includes(job) !== true) return;
    this.#keep(
      caller,
      jobs.filter((one) => one !== job),
    );
    job.reject(job.left.reason);
  }

  #keep(caller: string, jobs: readonly Job[]): void {
    if (jobs.length === 0) this.#waiting.delete(caller);
    else this.#waiting.set(caller, [...jobs]);
  }

  #serve(): void {
    for (const [caller, [job, ...others]] of [...this.#waiting]) {
      if (this.#busy.size >= THREADS) return;
      if (job === undefined || this.#served.has(caller)) continue;
      // The other documents of the caller come after those of all others.
      this.#waiting.delete(caller);
      this.#keep(caller, others);
      void this.#work(caller, job);
    }
  }

  async #work(caller: string, { question, left, resolve, reject }: Job): Promise<void> {
    this.#cancelEnd();
    const thread = this.#idle.pop() ?? new DocumentThread(this.#clock);
    this.#served.add(caller);
    this.#busy.add(thread);
    try {
      resolve(await thread.ask(question, left));
      this.#idle.push(thread);
    } catch (error) {
      void thread.end();
      reject(error);
    } finally {
      this.#busy.delete(thread);
      this.#served.delete(caller);
      this.#serve();
      if (this.#busy.size === 0) this.#cancelEnd = this.#clock.after(IDLE_MS, () => void this.stop());
    }
  }
}

function tooMany(status: 429 | 503, title: string, whose: string): ApiError {
  const detail = `too many documents ${whose} are read and checked now; try again`;
  return new ApiError('unavailable', title, detail, [], { status, retryAfterS: RETRY_AFTER_S });
}

const NONE: NodeJS.CpuUsage = { user: 0, system: 0 };

/** A thread with one document at a time. After an error it is of no use. */
class DocumentThread {
  readonly #clock: Clock;
  readonly #worker: Worker;
  readonly #started: Promise<unknown>;
  /** The CPU of all documents before. */
  #cpuBefore = NONE;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#worker = new Worker(new URL('./document-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    this.#worker.unref();
    // Without a listener an error of an idle thread would end the process.
    this.#worker.on('error', () => undefined);
    this.#started = this.#next(null);
    this.#started.catch(() => undefined);
  }

  async ask(question: DocumentQuestion, left: AbortSignal): Promise<DocumentAnswer> {
    await this.#started;
    left.throwIfAborted();
    this.#cpuBefore = await this.#worker.cpuUsage();
    this.#worker.postMessage(question);
    return await this.#next(left);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  async #next(left: AbortSignal | null): Promise<DocumentAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<DocumentAnswer>();
    const fail = (reason: string): void => reject(unreadable(reason));
    const failed = (error: unknown): void => fail(messageOf(error));
    const ended = (): void => fail('the thread that reads it has ended');
    let cancelLeave = (): void => undefined;
    const leave = (): void => void (cancelLeave = this.#clock.after(LEAVE_MS, () => reject(left?.reason)));
    const over = new AbortController();
    void this.#limitCpu(over.signal, () => fail('it takes too long'));
    this.#worker.once('message', resolve).once('error', failed).once('exit', ended);
    left?.addEventListener('abort', leave, { once: true });
    return await promise.finally(() => {
      over.abort();
      cancelLeave();
      left?.removeEventListener('abort', leave);
      this.#worker.off('message', resolve).off('error', failed).off('exit', ended);
    });
  }

  async #limitCpu(over: AbortSignal, exceed: () => void): Promise<void> {
    for (;;) {
      await this.#clock.sleep(POLL_MS, over, { ref: false });
      if (over.aborted) return;
      // A thread that has ended says so itself.
      const used = await this.#worker.cpuUsage(this.#cpuBefore).catch(() => NONE);
      if ((used.user + used.system) / 1_000 > MAX_CPU_MS) return exceed();
    }
  }
}

function unreadable(reason: string): ApiError {
  return new ApiError('bad_request', 'Bad Request', `the document cannot be read: ${reason}; send it in parts, or in JSON`);
}
