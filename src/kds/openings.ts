// How often a zone may open streams of one kind. Each stream costs the store some statements and the log a line, so that a zone which
// opens and closes without end would keep the others waiting. One that connects again after a fault never gets here.
import { LRUCache } from 'lru-cache';
import type { StreamKind } from './sync-events.ts';

/** Streams of a kind that a zone may open at once, and how many a second after that. */
const AT_ONCE = 20;
const A_SECOND = 2;
/** Openings that may wait; one more is refused. */
const MAX_WAITING = 20;
/** Zones and kinds that are remembered. */
const MAX_KNOWN = 50_000;

/** What is left at a time in milliseconds; negative: so many wait. */
type Allowance = { readonly left: number; readonly at: number };

export class Openings {
  readonly #now: () => number;
  readonly #allowances = new LRUCache<string, Allowance>({ max: MAX_KNOWN });

  /** @param now milliseconds, of a clock that never goes back */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @returns the milliseconds after which the stream may open; null where too many wait already */
  take({ zone, kind }: { readonly zone: string; readonly kind: StreamKind }): number | null {
    const key = JSON.stringify([zone, kind]);
    const now = this.#now();
    const { left: before, at } = this.#allowances.get(key) ?? { left: AT_ONCE, at: now };
    const left = Math.min(AT_ONCE, before + ((now - at) / 1_000) * A_SECOND) - 1;
    if (left < -MAX_WAITING) return null;
    this.#allowances.set(key, { left, at: now });
    return Math.max(0, (-left / A_SECOND) * 1_000);
  }
}

/** Of a stream that is opened while too many of its zone wait. */
export function opensTooOften(kind: StreamKind): string {
  return `the zone opens streams of ${kind} too often: ${String(A_SECOND)} a second are let in; look why its connection does not last`;
}
