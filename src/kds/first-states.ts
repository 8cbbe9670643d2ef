// Limits how many peers are sent their first state at once: without a limit 500 joining zones cost 1.8 GB (engine 20). Peers
// take turns, and each has one place at most, so that one that opens thousands of streams delays nobody but itself.

const AT_ONCE = 8;
/** A peer that never acknowledges keeps its place no longer than this, or it would delay the others. */
const LONGEST_MS = 10_000;

export class FirstStates {
  /** By peer, in the order of their first waiting stream. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #inside = new Set<string>();

  /**
   * Calls `go` when there is room, at once or later.
   * @returns leaves the place, or the queue; calling it again does nothing
   */
  enter(peer: string, go: () => void): () => void {
    let timer: NodeJS.Timeout | undefined;
    let state: 'waiting' | 'inside' | 'gone' = 'waiting';
    const admit = (): void => {
      state = 'inside';
      timer = setTimeout(leave, LONGEST_MS).unref();
      go();
    };
    const leave = (): void => {
      if (state === 'waiting') this.#unqueue(peer, admit);
      else if (state === 'inside') {
        clearTimeout(timer);
        this.#inside.delete(peer);
      }
      state = 'gone';
      this.#admitNext();
    };
    const queue = this.#waiting.get(peer) ?? new Set();
    this.#waiting.set(peer, queue.add(admit));
    this.#admitNext();
    return leave;
  }

  #admitNext(): void {
    for (const [peer, queue] of this.#waiting) {
      if (this.#inside.size >= AT_ONCE) return;
      const [admit] = queue;
      if (admit === undefined || this.#inside.has(peer)) continue;
      this.#unqueue(peer, admit);
      this.#inside.add(peer);
      // Behind the others for its next stream.
      if (this.#waiting.delete(peer)) this.#waiting.set(peer, queue);
      admit();
    }
  }

  #unqueue(peer: string, admit: () => void): void {
    const queue = this.#waiting.get(peer);
    queue?.delete(admit);
    if (queue?.size === 0) this.#waiting.delete(peer);
  }
}
