// Adds up vitest's JSON reports and prints the plain closing line. A test that ran in two reports counts once. Fails with a test that
// failed or was left out, and says why; and with fewer tests than there are known to be: a project that is not found must not pass.
import { readFileSync } from 'node:fs';

/** Some below what there is, so that a test may go. By the end of a file's name; the rest are unit tests. */
const LEAST = {
  '.e2e.test.ts': 100,
  '.pg.test.ts': 85,
  '.envoy.test.ts': 100,
  '.gui.test.ts': 20,
  '.chaos.test.ts': 0,
  '.peers.test.ts': 0,
  '.test.ts': 9_400,
};

/** Characters of a failure that are shown: the message and the first frames of the stack. */
const MAX_WHY = 1_000;

const runs = new Map();
const problems = [];
for (const report of process.argv.slice(2)) {
  const { success, testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const inReport = new Map();
  let failed = 0;
  for (const { name: file, assertionResults, message } of testResults) {
    if (message !== '') problems.push(`${file}: ${message}`);
    for (const { fullName, status, failureMessages } of assertionResults) {
      if (status === 'failed') failed += 1;
      const why = (failureMessages ?? []).map((text) => `\n  ${text.slice(0, MAX_WHY)}`).join('');
      if (status !== 'passed') problems.push(`${status}: ${file} ${fullName}${why}`);
      const key = `${file} ${fullName}`;
      if (status === 'passed') inReport.set(key, { file, times: (inReport.get(key)?.times ?? 0) + 1 });
    }
  }
  if (!success && failed === 0) problems.push(`${report}: vitest failed outside of a test`);
  for (const [key, { file, times }] of inReport) runs.set(key, { file, times: Math.max(times, runs.get(key)?.times ?? 0) });
}

const passed = Object.fromEntries(Object.keys(LEAST).map((end) => [end, 0]));
for (const { file, times } of runs.values()) passed[Object.keys(LEAST).find((end) => file.endsWith(end)) ?? '.test.ts'] += times;
for (const [end, least] of Object.entries(LEAST))
  if (passed[end] < least) problems.push(`${passed[end]} tests of *${end} passed; there are at least ${least}`);

for (const problem of problems) console.log(problem);
const all = Object.values(passed).reduce((sum, number) => sum + number, 0);
console.log(`${all} passed (${passed['.e2e.test.ts']} e2e, ${passed['.pg.test.ts']} PostgreSQL), ${problems.length} failed`);
process.exitCode = problems.length === 0 ? 0 : 1;
