// How long the demo waits for one step of itself.

const MINUTES = 3;

/** Milliseconds. A step takes a few seconds, and minutes on a machine that does much else. */
export const STEP_MS = MINUTES * 60_000;
/** The same for a person. */
export const STEP_LIMIT = `${String(MINUTES)} minutes`;
