// How often events may have answers asked for again. All parts of a tab together may keep the control plane busy for a small share of the
// time; a reserve lets single changes show at once. Invariant: no pause is longer than the given limit.

/** Milliseconds of work for each millisecond. */
const SHARE = 0.002;
const RESERVE_MS = 60;
/** What an answer costs at least. */
const LEAST_MS = 1;

/** The way there and back, and an answer that costs nothing. */
let fastestMs = Infinity;
let reserveMs = RESERVE_MS;
let countedAt = performance.now();
const work = new WeakMap<AbortSignal, number>();

/** Counts an answer for its reader. @param ms from the request to the end of the answer */
export function countAnswer(reader: AbortSignal | undefined, ms: number): void {
  fastestMs = Math.min(fastestMs, ms);
  if (reader !== undefined) work.set(reader, workOf(reader) + Math.max(LEAST_MS, ms - fastestMs));
}

/** Milliseconds of work for this reader so far. */
export function workOf(reader: AbortSignal): number {
  return work.get(reader) ?? 0;
}

/** Takes work that an event caused from the reserve. @param mostMs no pause is longer */
export function spend(ms: number, mostMs: number): void {
  refill();
  reserveMs = Math.max(-mostMs * SHARE, reserveMs - ms);
}

/** Milliseconds until events may cause more work. */
export function pauseMs(): number {
  refill();
  return reserveMs >= 0 ? 0 : -reserveMs / SHARE;
}

function refill(): void {
  const at = performance.now();
  reserveMs = Math.min(RESERVE_MS, reserveMs + (at - countedAt) * SHARE);
  countedAt = at;
}
