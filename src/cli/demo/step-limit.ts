// The time limit of one step of the demo.

const MINUTES = 3;

/** The limit in milliseconds. A step takes a few seconds, and minutes on a machine that does much else. */
export const STEP_MS = MINUTES * 60_000;
/** The limit as text for people. */
export const STEP_LIMIT = `${String(MINUTES)} minutes`;
