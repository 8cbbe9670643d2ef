// Combines calls: those of one turn of the event loop share a statement, from all sockets, and new ones wait during two statements and share
// the next. Many callers then cost few round trips. A statement starts after all its callers have called, so each caller sees its own
// earlier writes.

/** The largest number of statements at a time. Each holds a connection of the pool. */
const MAX_IN_FLIGHT = 2;
const MAX_AT_ONCE = 1_000;

type Waiting<Asked, Answer> = {
  readonly asked: Asked;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
};

export class CallBatcher<Asked, Answer> {
  readonly #run: (asked: readonly Asked[]) => Promise<readonly Answer[]>;
  readonly #most: number;
  #queue: Waiting<Asked, Answer>[] = [];
  #inFlight = 0;

  /**
   * @param run answers in the order of the questions; if it fails, each of its calls rejects
   * @param most the number of calls of one statement
   */
  constructor(run: (asked: readonly Asked[]) => Promise<readonly Answer[]>, most = MAX_AT_ONCE) {
    this.#run = run;
    this.#most = most;
  }

  async call(asked: Asked): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#queue.push({ asked, resolve, reject });
    if (this.#queue.length === 1) setImmediate(() => this.#next());
    return await promise;
  }

  #next(): void {
    if (this.#inFlight >= MAX_IN_FLIGHT || this.#queue.length === 0) return;
    const batch = this.#queue.splice(0, this.#most);
    this.#inFlight += 1;
    void this.#answer(batch).finally(() => {
      this.#inFlight -= 1;
      this.#next();
    });
  }

  async #answer(batch: readonly Waiting<Asked, Answer>[]): Promise<void> {
    try {
      const answers = await this.#run(batch.map(({ asked }) => asked));
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
