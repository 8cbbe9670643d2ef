// Limits the number of open streams of a kind for each zone, and the rate at which it opens them. Each stream costs some statements
// and a log line, so a zone that opens and closes streams continuously would delay the others. A zone that reconnects after a failure
// stays far below both limits.
import { LRUCache } from 'lru-cache';
import type { StreamKind } from './sync-events.ts';

/** Streams of a kind that a zone may open at once. After that the limit is a rate per second. */
const AT_ONCE = 20;
const A_SECOND = 2;
/** Openings that may wait; one more is refused. */
const MAX_WAITING = 20;
/** Zones and kinds that are remembered. */
const MAX_KNOWN = 50_000;

type StreamOf = { readonly zone: string; readonly kind: StreamKind };

/** The allowance that is left at a time in milliseconds; negative: the number of waiting streams. */
type Allowance = { readonly left: number; readonly at: number };

export class Openings {
  readonly #now: () => number;
  readonly #allowances = new LRUCache<string, Allowance>({ max: MAX_KNOWN });

  /** @param now milliseconds, of a clock that never goes back */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @returns the milliseconds after which the stream may open; null if too many wait already */
  take(stream: StreamOf): number | null {
    const key = idOf(stream);
    const now = this.#now();
    const { left: before, at } = this.#allowances.get(key) ?? { left: AT_ONCE, at: now };
    const left = Math.min(AT_ONCE, before + ((now - at) / 1_000) * A_SECOND) - 1;
    if (left < -MAX_WAITING) return null;
    this.#allowances.set(key, { left, at: now });
    return Math.max(0, (-left / A_SECOND) * 1_000);
  }
}

/** The reason for the refusal of a stream while too many of its zone wait. */
export function opensTooOften(kind: StreamKind): string {
  return `the zone opens streams of ${kind} too often: ${String(A_SECOND)} a second are admitted; check why its connection does not last`;
}

/** How many streams of each kind every zone has open. A zone without streams takes no memory. */
export class OpenStreams {
  readonly #streams = new Map<string, Set<StreamOf>>();

  add(stream: StreamOf): void {
    const id = idOf(stream);
    this.#streams.set(id, (this.#streams.get(id) ?? new Set()).add(stream));
  }

  /** A stream that was never added changes nothing. */
  delete(stream: StreamOf): void {
    const id = idOf(stream);
    const streams = this.#streams.get(id);
    streams?.delete(stream);
    if (streams?.size === 0) this.#streams.delete(id);
  }

  /** The number of open streams of the same zone and kind. */
  count(like: StreamOf): number {
    return this.#streams.get(idOf(like))?.size ?? 0;
  }
}

/** The reason for the refusal of a stream over the limit. */
export function tooManyStreams(kind: string, limit: number): string {
  return `the zone has ${String(limit)} open streams of ${kind}, which is the limit; end some, or raise multizone.global.kds.quotas.streams on global`;
}

function idOf({ zone, kind }: StreamOf): string {
  return JSON.stringify([zone, kind]);
}
