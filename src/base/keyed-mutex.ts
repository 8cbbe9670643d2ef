// Runs the tasks of one key one after the other, in the order of their arrival. Tasks of other keys do not wait.

export class KeyedMutex {
  /** The last task of each key. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs the task when the earlier tasks of its key have ended, in any way. */
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
