// Lets each replica of a global serve its share of the zones: a replica with too many ends the streams of some, and their next connection
// goes through the load balancer to another replica. Invariants: a replica that is alone moves no zone; between the upper and the lower
// bound nothing moves, so that two replicas do not exchange zones; zones that come back to this replica make it pause.
import { every, type Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { messageOf } from '../base/errors.ts';
import type { ReplicaRoster } from './replica-roster.ts';

/** A replica starts to move zones above the first multiple of its share, and stops below the second. */
const BEGIN_SHARE = 1.2;
const END_SHARE = 1.05;
/** Milliseconds between two checks of the numbers, and between two marks that report a changed number. */
const POLL_MS = 1_000;
const SAY_MS = 2_000;
/** A moved zone that comes back to this replica within this time counts as returned. Kuma zones wait up to 10 s. */
const RETURN_MS = 15_000;
/** Of this many moved zones, more than this many return only if the load balancer always chooses this replica, not by chance. */
const SAMPLE_ZONES = 8;
const MAX_RETURNED = 7;
/** The pause after that. It doubles each time, and ends when zones stay away again. */
const FIRST_PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 3_600_000;

/** The zones of this process, for one that moves them. */
export type MovableZones = {
  /** The number of zones with a stream to this process. */
  readonly count: () => number;
  /**
   * The zones that may be moved now, in the order in which they should move. A zone whose first state is on its way is not among
   * them.
   */
  readonly movable: (minAgeMs: number) => readonly string[];
  readonly has: (zone: string) => boolean;
  /** Ends all streams of these zones with the status that makes a zone connect again. */
  readonly move: (zones: ReadonlySet<string>) => void;
};

export type SharingSettings = {
  readonly enabled: boolean;
  /** The time in milliseconds. */
  readonly settleTime: number;
  readonly percentPerSecond: number;
};

export type ZoneSharingOptions = {
  readonly roster: Pick<ReplicaRoster, 'setZones' | 'sharers'>;
  readonly zones: MovableZones;
  readonly settings: SharingSettings;
  readonly clock: Clock;
  readonly log: Logger;
};

/** The numbers of zones between which a replica moves none. */
export type Bounds = { readonly lower: number; readonly upper: number };

/**
 * Computes the bounds.
 * @param counts the zones of each replica
 * @returns null where nothing can be shared: one replica, or no zone
 */
export function boundsOf(counts: readonly number[]): Bounds | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (counts.length < 2 || total === 0) return null;
  const share = total / counts.length;
  return { lower: Math.max(Math.ceil(share), share * END_SHARE), upper: Math.max(Math.ceil(share), share * BEGIN_SHARE) };
}

export class ZoneSharing {
  readonly #options: ZoneSharingOptions;
  /** The time at which this replica began to have too many zones; null if it has not. */
  #tooManySince: number | null = null;
  #isMoving = false;
  /** The parts of a zone that may be moved. */
  #allowance = 0;
  #saidAt = -Infinity;
  /** The moved zones, with the time of each move. */
  readonly #moved = new Map<string, number>();
  #stayed = 0;
  #returned = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #pausedUntil = -Infinity;

  constructor(options: ZoneSharingOptions) {
    this.#options = options;
  }

  /** Looks every second until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    await every(clock, POLL_MS, signal, () => {
      try {
        this.#look();
      } catch (error) {
        log.warn({ reason: messageOf(error) }, 'the zones of this replica were not compared with those of the others');
      }
    });
  }

  #look(): void {
    const { roster, zones, settings, clock } = this.#options;
    const now = clock.elapsed();
    const own = zones.count();
    if (now - this.#saidAt >= SAY_MS) {
      this.#saidAt = now;
      roster.setZones(own);
    }
    this.#countReturned(now);
    if (!settings.enabled) return;
    const bounds = boundsOf(roster.sharers().map((one) => one.zones));
    if (bounds === null || own <= bounds.lower || (!this.#isMoving && own <= bounds.upper)) {
      this.#tooManySince = null;
      this.#isMoving = false;
      this.#allowance = 0;
      return;
    }
    this.#tooManySince ??= now;
    if (now - this.#tooManySince < settings.settleTime || now < this.#pausedUntil) return;
    this.#isMoving = true;
    this.#allowance += (own * settings.percentPerSecond * POLL_MS) / 100_000;
    this.#move(Math.min(Math.floor(this.#allowance), Math.floor(own - bounds.lower) || 1), own, now);
  }

  #move(count: number, own: number, now: number): void {
    if (count < 1 || this.#allowance < 1) return;
    const { zones, settings, log } = this.#options;
    const chosen = zones.movable(settings.settleTime).slice(0, count);
    // An unused allowance expires.
    this.#allowance -= Math.floor(this.#allowance);
    if (chosen.length === 0) return;
    for (const zone of chosen) {
      // The oldest stand first.
      this.#moved.delete(zone);
      this.#moved.set(zone, now);
    }
    zones.move(new Set(chosen));
    log.info({ moved: chosen.length, zones: own }, 'this replica has more than its share of the zones and moved some');
  }

  /** Zones that return show that the load balancer sends them here whatever this replica does. */
  #countReturned(now: number): void {
    for (const [zone, at] of this.#moved) {
      if (now - at < RETURN_MS) break;
      this.#moved.delete(zone);
      if (this.#options.zones.has(zone)) this.#returned += 1;
      else this.#stayed += 1;
    }
    if (this.#stayed + this.#returned < SAMPLE_ZONES) return;
    if (this.#returned / (this.#stayed + this.#returned) < MAX_RETURNED / SAMPLE_ZONES) this.#pauseMs = FIRST_PAUSE_MS;
    else {
      this.#pausedUntil = now + this.#pauseMs;
      this.#options.log.warn(
        { returned: this.#returned, of: this.#stayed + this.#returned, pauseSeconds: this.#pauseMs / 1_000 },
        'moved zones came back to this replica: let the load balancer choose the replica with the fewest connections',
      );
      this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs * 2);
    }
    this.#stayed = 0;
    this.#returned = 0;
  }
}
