/** For `expect.poll` and `vi.waitFor`: a busy machine is no failure. Milliseconds. */
export const WAIT = { timeout: 90_000, interval: 20 };
