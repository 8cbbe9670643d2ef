/**
 * The timeout of `expect.poll` and `vi.waitFor` in milliseconds, long enough for a busy machine. It is shorter in a mutation run,
 * where conditions become impossible.
 */
export const WAIT = { timeout: Number(process.env['TEST_PATIENCE_MS'] ?? 90_000), interval: 20 };
