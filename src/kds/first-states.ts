// Limits how many peers are sent their first state at once: without a limit 500 joining zones cost 1.8 GB (engine 20). Peers
// take turns, and each has one place at most, so that one that opens thousands of streams delays nobody but itself. Its newest
// stream has it: a zone that is back within seconds does not wait for the stream that died with its last connection.

const AT_ONCE = 8;
/** What the messages of all first states may hold at a time: who joins alone gets large ones and needs few round trips. */
const IN_FLIGHT_BYTES = AT_ONCE * 1024 * 1024;
/** A peer that never acknowledges keeps its place no longer than this, or it would delay the others. */
const LONGEST_MS = 10_000;
/** A stream that took the place over has this long before the next may, or a flood of streams would all be sent to at once. */
const TAKE_OVER_MS = 1_000;

/** One stream that waits for the place of its peer, or has it. */
type Turn = { readonly go: () => void; readonly timers: NodeJS.Timeout[] };

type Place = { readonly turn: Turn; mayBeTaken: boolean };

export class FirstStates {
  /** By peer, in the order of their first waiting stream; the streams of a peer oldest first. */
  readonly #waiting = new Map<string, Set<Turn>>();
  readonly #inside = new Map<string, Place>();

  /** How many bytes of resources one message may hold now: few sizes, so that peers side by side get the same messages. */
  get messageBytes(): number {
    return IN_FLIGHT_BYTES / 2 ** Math.ceil(Math.log2(Math.max(1, this.#inside.size)));
  }

  /**
   * Calls `go` when there is room, at once or later.
   * @returns leaves the place, or the queue; calling it again does nothing
   */
  enter(peer: string, go: () => void): () => void {
    const turn: Turn = { go, timers: [] };
    const queue = this.#waiting.get(peer) ?? new Set();
    this.#waiting.set(peer, queue.add(turn));
    this.#takeOver(peer);
    this.#admitNext();
    return () => this.#leave(peer, turn);
  }

  #leave(peer: string, turn: Turn): void {
    this.#unqueue(peer, turn);
    if (this.#inside.get(peer)?.turn === turn) this.#free(peer);
    this.#admitNext();
  }

  #free(peer: string): void {
    for (const timer of this.#inside.get(peer)?.turn.timers ?? []) clearTimeout(timer);
    this.#inside.delete(peer);
  }

  /** Gives the place of a peer to the newest stream of it that waits. */
  #takeOver(peer: string): void {
    if (this.#inside.get(peer)?.mayBeTaken !== true) return;
    const turn = newest(this.#waiting.get(peer));
    if (turn === undefined) return;
    this.#free(peer);
    this.#admit(peer, turn, false);
  }

  #admitNext(): void {
    for (const [peer, queue] of this.#waiting) {
      if (this.#inside.size >= AT_ONCE) return;
      const turn = this.#inside.has(peer) ? undefined : newest(queue);
      if (turn !== undefined) this.#admit(peer, turn, true);
    }
  }

  #admit(peer: string, turn: Turn, mayBeTaken: boolean): void {
    this.#unqueue(peer, turn);
    const place: Place = { turn, mayBeTaken };
    this.#inside.set(peer, place);
    // Behind the others for its next stream.
    const queue = this.#waiting.get(peer);
    if (queue !== undefined && this.#waiting.delete(peer)) this.#waiting.set(peer, queue);
    turn.timers.push(setTimeout(() => this.#leave(peer, turn), LONGEST_MS).unref());
    const yieldPlace = (): void => {
      place.mayBeTaken = true;
      this.#takeOver(peer);
    };
    if (!mayBeTaken) turn.timers.push(setTimeout(yieldPlace, TAKE_OVER_MS).unref());
    turn.go();
  }

  #unqueue(peer: string, turn: Turn): void {
    const queue = this.#waiting.get(peer);
    queue?.delete(turn);
    if (queue?.size === 0) this.#waiting.delete(peer);
  }
}

function newest(queue: ReadonlySet<Turn> = new Set()): Turn | undefined {
  return [...queue].at(-1);
}
