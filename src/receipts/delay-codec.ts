// Milliseconds in a byte, so that 10,000 zones and hundreds of changes fit into some megabytes. A step is 5.5 %.

/** The byte without a time. */
export const NONE = 0;
/** The byte of the shortest time. */
export const SHORTEST = 1;
const MAX_BYTE = 250;
/** The largest time, in milliseconds: 10 minutes. */
const MAX_MS = 600_000;
const STEP = Math.log(MAX_MS) / (MAX_BYTE - 1);

/** The byte of a time. @returns 1 to 250, also for a negative time and for one over the largest */
export function encodeDelay(ms: number): number {
  return Math.min(MAX_BYTE, 1 + Math.round(Math.log(Math.max(1, ms)) / STEP));
}

/** Returns null for a byte without a time. */
export function decodeDelay(byte: number): number | null {
  if (byte < 1 || byte > MAX_BYTE) return null;
  return Math.round(Math.exp((byte - 1) * STEP));
}
