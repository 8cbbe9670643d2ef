/**
 * For `expect.poll` and `vi.waitFor`: a busy machine is no failure. Milliseconds. A mutation run waits less: in it conditions become
 * impossible.
 */
export const WAIT = { timeout: Number(process.env['TEST_PATIENCE_MS'] ?? 90_000), interval: 20 };
