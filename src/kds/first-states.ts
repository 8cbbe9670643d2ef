// Limits how many peers are sent their first state at once: without a limit 500 joining zones cost 1.8 GB (engine 20).

const AT_ONCE = 8;
/** A peer that never acknowledges keeps its place no longer than this, or it would delay the others. */
const LONGEST_MS = 10_000;

export class FirstStates {
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  /**
   * Calls `go` when there is room, at once or later.
   * @returns leaves the place, or the queue; calling it again does nothing
   */
  enter(go: () => void): () => void {
    let state: 'waiting' | 'inside' | 'gone' = 'waiting';
    let timer: NodeJS.Timeout | undefined;
    const leave = (): void => {
      if (state === 'inside') {
        clearTimeout(timer);
        this.#inside -= 1;
        this.#waiting.shift()?.();
      } else if (state === 'waiting') {
        const index = this.#waiting.indexOf(admit);
        if (index >= 0) this.#waiting.splice(index, 1);
      }
      state = 'gone';
    };
    const admit = (): void => {
      state = 'inside';
      this.#inside += 1;
      timer = setTimeout(leave, LONGEST_MS).unref();
      go();
    };
    if (this.#inside < AT_ONCE) admit();
    else this.#waiting.push(admit);
    return leave;
  }
}
