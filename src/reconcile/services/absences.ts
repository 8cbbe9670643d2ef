// Proxies without a stream that may come back: those whose control plane ended, and those whose stream broke. Invariant: each is absent
// for a limited time, from when this leader saw it first, and is gone after it. Clocks of other replicas do not count.
import { textOf } from '../../resource/read-json.ts';
import { describedSubscription, isOnline, subscriptionsOf } from '../../resource/online-status.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';

/** The time for a proxy whose control plane ended, in milliseconds: an Envoy waits up to 30 s before it tries again. */
export const LOST_MS = 60_000;

type Absence = {
  /** The end of the last stream, as written; another time is another absence. */
  readonly endedAt: string;
  /** It is true when its control plane ended, and the stream with it. */
  readonly isLost: boolean;
};

type Seen = Absence & { until: number | null };

/** Returns null for a connected proxy. */
export function absenceIn({ spec, status }: Pick<Resource, 'spec' | 'status'>): Absence | null {
  if (isOnline(spec)) return null;
  const endedAt = textOf(describedSubscription(subscriptionsOf(spec))?.['disconnectTime']);
  return { endedAt, isLost: status['hold'] === 'held' || status['isLost'] === true };
}

/** Whether a proxy has said that it leaves. @param status the status of its DataplaneInsight */
export function isLeaving(status: JsonObject): boolean {
  return status['hold'] === 'leaving' || status['isLeaving'] === true;
}

/**
 * The places where a zone proxy listens; null where its insight does not say it.
 * @param status the status of its DataplaneInsight
 */
export function listensIn({ listens }: JsonObject): ReadonlySet<string> | null {
  return Array.isArray(listens) ? new Set(listens.map(textOf)) : null;
}

export class Absences {
  readonly #graceMs: number;
  readonly #seen = new Map<string, Seen>();
  /** The names of the proxies whose time is not over. */
  readonly #open = new Set<string>();
  #hasLooked = false;

  /** @param graceMs the milliseconds for a proxy whose stream broke */
  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  /**
   * Takes the absence of a proxy.
   * @param absence null if the proxy is connected, or nothing is known of it
   * @returns whether that is new
   */
  put(name: string, absence: Absence | null): boolean {
    const before = this.#seen.get(name);
    if (absence === null) {
      this.#open.delete(name);
      return this.#seen.delete(name);
    }
    if (before?.endedAt === absence.endedAt && before.isLost === absence.isLost) return false;
    this.#seen.set(name, { ...absence, until: null });
    this.#open.add(name);
    return true;
  }

  /** The state of a proxy. `gone` means that it is absent, and its time is over. */
  stateOf(name: string): 'present' | 'broken' | 'lost' | 'gone' {
    const seen = this.#seen.get(name);
    if (seen === undefined) return 'present';
    if (!this.#open.has(name)) return 'gone';
    return seen.isLost ? 'lost' : 'broken';
  }

  /**
   * Ends the absences whose time is over.
   * @param now `elapsed` of the clock: a date that somebody sets back would keep a proxy that is gone
   * @returns the names that are gone now, and the time of the next check; null if not needed
   */
  look(now: number): { readonly gone: readonly string[]; readonly wakeAt: number | null } {
    const gone: string[] = [];
    let wakeAt: number | null = null;
    for (const name of this.#open) {
      const seen = this.#seen.get(name);
      if (seen === undefined) continue;
      // Before this leader began, possibly no control plane ran.
      const isLong = seen.isLost || !this.#hasLooked;
      seen.until ??= now + (isLong ? Math.max(this.#graceMs, LOST_MS) : this.#graceMs);
      if (seen.until <= now) gone.push(name);
      else wakeAt = Math.min(wakeAt ?? seen.until, seen.until);
    }
    this.#hasLooked = true;
    for (const name of gone) this.#open.delete(name);
    return { gone, wakeAt };
  }
}
