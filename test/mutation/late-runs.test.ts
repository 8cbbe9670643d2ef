// Which runs of tests are repeated, and which outcome counts.
import { expect, it } from 'vitest';
import { againIfLate } from '../../scripts/mutation/late-runs.ts';
import type { TestRun } from '../../scripts/mutation/test-runner.ts';

const PASSED: TestRun = { outcome: 'passed', took: [], failed: [], late: [], errors: [] };
const HUNG: TestRun = { ...PASSED, outcome: 'timed out' };
const WRONG: TestRun = { ...PASSED, outcome: 'failed', failed: ['a.test.ts'], errors: ['«a» expected 1 to be 2'] };
const LATE: TestRun = { ...WRONG, late: ['a.test.ts'], errors: ['«a» Test timed out in 60000ms.'] };

/** The outcome, and for each run whether it was alone. */
async function outcomeOf(...runs: TestRun[]): Promise<{ outcome: string; asked: boolean[] }> {
  const asked: boolean[] = [];
  const { outcome } = await againIfLate(async (isAlone) => {
    const run = runs[asked.push(isAlone) - 1];
    if (run === undefined) throw new Error('one run too many');
    return run;
  });
  return { outcome, asked };
}

it.each([
  ['that hangs', HUNG],
  ['whose failed tests were all late', LATE],
])('repeats a run %s once, alone, and takes the second outcome', async (_, first) => {
  expect(await outcomeOf(first, PASSED)).toEqual({ outcome: 'passed', asked: [false, true] });
  expect(await outcomeOf(first, WRONG)).toEqual({ outcome: 'failed', asked: [false, true] });
  expect(await outcomeOf(first, HUNG)).toEqual({ outcome: 'timed out', asked: [false, true] });
});

it.each<[string, TestRun]>([
  ['passed', PASSED],
  ['failed in time', WRONG],
  ['failed in one file in time', { ...LATE, failed: ['a.test.ts', 'b.test.ts'], errors: ['late', 'wrong'] }],
  ['had an error of no test', { ...LATE, errors: [...LATE.errors, 'unhandled'] }],
  ['ended before it answered', { ...PASSED, outcome: 'ended' }],
  ['did not run all files', { ...PASSED, outcome: 'incomplete' }],
])('does not repeat a run that %s', async (_, run) => {
  expect(await outcomeOf(run)).toEqual({ outcome: run.outcome, asked: [false] });
});
