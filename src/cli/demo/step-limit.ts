// How long the demo waits for one step of itself.

/** Milliseconds. A step takes a few seconds, and minutes on a machine that does much else. */
export const STEP_MS = 180_000;
export const STEP_LIMIT = 'three minutes';
