// A busy machine makes a test late, and so does a change. Only a run with nothing beside it tells which.
import type { TestRun } from './test-runner.ts';

/**
 * The outcome of a run; where a test was late, that of a second run.
 * @param run `isAlone` asks for a new process that runs one test file at a time
 */
export async function againIfLate(run: (isAlone: boolean) => Promise<TestRun>): Promise<TestRun> {
  const first = await run(false);
  return wasLate(first) ? await run(true) : first;
}

/** Whether lateness is all that the tests found. */
function wasLate({ outcome, failed, late, errors }: TestRun): boolean {
  if (outcome === 'timed out') return true;
  return outcome === 'failed' && failed.length === errors.length && failed.every((file) => late.includes(file));
}
