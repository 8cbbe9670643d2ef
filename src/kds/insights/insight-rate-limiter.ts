// Limits the rows of insights of proxies that this process stores a second, and orders the streams that wait for more.
// Invariants: a stream is in the queue once; a fleet of at most `FREE_ZONES` zones never waits; the sum over all replicas is the
// same, however the zones are divided.
import type { Clock } from '../../base/clock.ts';

/** The number of zones of a fleet whose rows are not limited. */
export const FREE_ZONES = 500;
/** The product of rows a second and zones: 3,000 a second with 500 zones, 150 with 10,000. */
const ROW_ZONES = 1_500_000;
/** While no stream waits, rows may be stored ahead of the rate by this many milliseconds. */
const AHEAD_MS = 1_000;
/** The interval of the looks at the size of the fleet, in milliseconds. */
const LOOK_MS = 10_000;

export type InsightRateLimiterOptions = {
  readonly clock: Pick<Clock, 'elapsed' | 'after'>;
  /** The number of zones of the fleet, of all replicas. */
  readonly fleetSize: () => number;
  /** The number of zones with a stream to this process. */
  readonly ownZones: () => number;
};

type Turn = { readonly rows: number; readonly go: () => void };

export class InsightRateLimiter {
  readonly #options: InsightRateLimiterOptions;
  /** The time at which the rate has caught up with the counted rows, in milliseconds of the clock. */
  #paidAt = 0;
  /** The waiting streams, in the order of their arrival. */
  readonly #waiting = new Set<Turn>();
  #cancelLook: (() => void) | null = null;

  constructor(options: InsightRateLimiterOptions) {
    this.#options = options;
  }

  /** The number of streams that wait for their turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Counts the rows if they may be stored now. @returns false if they have to wait for a turn */
  admits(rows: number): boolean {
    if (rows === 0) return true;
    const isAhead = this.#waiting.size > 0 || this.#paidAt - this.#options.clock.elapsed() > AHEAD_MS;
    if (isAhead && !this.#isFree()) return false;
    this.count(rows);
    return true;
  }

  /** Rows that are stored without a turn delay the next ones. */
  count(rows: number): void {
    const now = this.#options.clock.elapsed();
    this.#paidAt = this.#isFree() ? now : Math.max(now, this.#paidAt) + (rows / this.#rowsASecond()) * 1_000;
  }

  /**
   * Puts a stream at the end of the queue.
   * @param rows the number of rows that it is going to store; they are counted at its turn
   * @param go is called once, later
   * @returns a function that leaves the queue
   */
  wait(rows: number, go: () => void): () => void {
    const turn = { rows, go };
    this.#waiting.add(turn);
    this.#lookLater();
    return () => void this.#waiting.delete(turn);
  }

  #lookLater(): void {
    if (this.#cancelLook !== null || this.#waiting.size === 0) return;
    const { clock } = this.#options;
    const waitMs = Math.min(LOOK_MS, Math.max(0, Math.ceil(this.#paidAt - clock.elapsed())));
    this.#cancelLook = clock.after(waitMs, () => {
      this.#cancelLook = null;
      this.#giveTurns();
      this.#lookLater();
    });
  }

  #giveTurns(): void {
    for (const turn of this.#waiting) {
      if (this.#paidAt > this.#options.clock.elapsed() && !this.#isFree()) return;
      this.#waiting.delete(turn);
      this.count(turn.rows);
      turn.go();
    }
  }

  #isFree(): boolean {
    return this.#fleet().size <= FREE_ZONES;
  }

  #rowsASecond(): number {
    const { own, size } = this.#fleet();
    return (ROW_ZONES / size) * (own / size);
  }

  /** The number of zones of this process, and of the fleet. A new zone may be known here later than its stream. */
  #fleet(): { readonly own: number; readonly size: number } {
    const own = Math.max(1, this.#options.ownZones());
    return { own, size: Math.max(own, this.#options.fleetSize()) };
  }
}
