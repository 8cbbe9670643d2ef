// Tasks on one thing, one after the other in the order in which they came; tasks on other things do not wait.

export class KeyedMutex {
  /** The last task of each thing that has one. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs the task when those before it on the same thing are over, however they ended. */
  async run<T>(thing: string, task: () => Promise<T>): Promise<T> {
    const running = (this.#last.get(thing) ?? Promise.resolve()).then(task, task);
    this.#last.set(thing, running);
    try {
      return await running;
    } finally {
      if (this.#last.get(thing) === running) this.#last.delete(thing);
    }
  }
}
