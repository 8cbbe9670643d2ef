// Counts the messages in flight between control planes of one process, so that a test can wait until there are none.
// Invariant: at rest no message is in flight, no write is pending, and no timer except that of a refusal is set.
import type { TinyStore } from '../support/tiny-store.ts';

/** The limit, far above the longest case: it ends two control planes that echo each other forever. */
const MAX_TURNS = 10_000;

export class Traffic {
  #underWay = 0;
  #seen = 0;
  #failure: Error | null = null;

  watch(store: TinyStore): void {
    store.beforeWrite = () => {
      this.#seen += 1;
      return undefined;
    };
  }

  /** A queue that handles one item at a time, in order. An item is in flight until its work is done. */
  queue(): (work: () => void | Promise<void>) => void {
    let tail = Promise.resolve();
    return (work) => {
      this.#underWay += 1;
      this.#seen += 1;
      tail = tail
        .then(work)
        .catch((error: unknown) => {
          this.#failure ??= error instanceof Error ? error : new Error(String(error));
        })
        .finally(() => {
          this.#underWay -= 1;
        });
    };
  }

  /**
   * Resolves at rest. A change takes one turn of the event loop at most to become a message (a sender gathers the changes of one
   * turn), so two turns in a row without a write or a message mean that none can follow.
   * @throws the error of a receiver, or an error when the traffic does not end
   */
  async rest(): Promise<void> {
    for (let quiet = 0, turns = 0; quiet < 2 || this.#underWay > 0; turns += 1) {
      if (this.#failure !== null) throw this.#failure;
      if (turns > MAX_TURNS) throw new Error(`no rest after ${String(this.#seen)} writes and messages: is there an echo?`);
      const before = this.#seen;
      await new Promise((resolve) => setImmediate(resolve));
      quiet = this.#seen === before ? quiet + 1 : 0;
    }
    if (this.#failure !== null) throw this.#failure;
  }
}
