// How long a zone waits before it dials global again. It does not grow with the attempts: after global is back, a policy waits only
// for this delay and a connection (engine 22).

const MIN_MS = 100;
const MAX_MS = 800;

/** Milliseconds; spread, so that the zones of a global that came back do not dial all at once. @param random in [0, 1) */
export function reconnectPauseMs(random: () => number = Math.random): number {
  return MIN_MS + random() * (MAX_MS - MIN_MS);
}
