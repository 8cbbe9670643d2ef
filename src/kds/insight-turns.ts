// When global confirms the insights of proxies that a zone has sent. A zone sends the next ones of the type only after that, with all that has
// changed meanwhile, so the rows a second stay bounded without a queue. Invariants: nothing waits in memory but times; a fleet of at most
// `FREE_ZONES` zones never waits; the sum over all replicas is the same, however the zones are divided.
import type { Clock } from '../base/clock.ts';

/** The type whose answers wait. */
export const PACED_TYPE = 'DataplaneInsight';
/** Zones of a fleet whose rows are not limited. */
export const FREE_ZONES = 500;
/** Rows a second times zones: 3,000 a second with 500 zones, 150 with 10,000. */
const ROW_ZONES = 1_500_000;

export type InsightTurnsOptions = {
  readonly clock: Pick<Clock, 'elapsed'>;
  /** Zones of the fleet, of all replicas. */
  readonly fleetSize: () => number;
  /** Zones with a stream to this process. */
  readonly ownZones: () => number;
};

export class InsightTurns {
  readonly #options: InsightTurnsOptions;
  /** When the rows that were stored so far are paid for, in milliseconds of the clock. */
  #paidAt = 0;

  constructor(options: InsightTurnsOptions) {
    this.#options = options;
  }

  /**
   * Counts rows that were stored.
   * @returns milliseconds after which they may be confirmed
   */
  after(rows: number): number {
    const { clock, fleetSize, ownZones } = this.#options;
    const now = clock.elapsed();
    const own = Math.max(1, ownZones());
    const fleet = Math.max(own, fleetSize());
    // What waits was counted in a larger fleet.
    if (fleet <= FREE_ZONES) this.#paidAt = now;
    if (fleet <= FREE_ZONES || rows === 0) return 0;
    const rowsASecond = (ROW_ZONES / fleet) * (own / fleet);
    this.#paidAt = Math.max(now, this.#paidAt) + (rows / rowsASecond) * 1_000;
    return Math.ceil(this.#paidAt - now);
  }
}
