// Adds up vitest's JSON reports and prints the plain closing line. A test that ran in two reports counts once. Fails, and says why, with a
// test that failed or was left out, with a folder in which fewer tests passed than .ci/known-tests.json says, and with so many more that
// this file no longer guards them. `--write` makes the file from the reports; `--incomplete` compares nothing, after a part that failed.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { parseArgs } from 'node:util';

/** Of the known tests of a folder: so few may go without a change of the file. */
const MAY_GO = 0.02;
/** Of all known tests: with more new ones the file is out of date. */
const MAY_COME = 0.1;
const REMEDY = 'if that is meant, write the new numbers with bash .ci/run --write-known-tests';

/** Tests that not every run has. */
const SOMETIMES = /\.(chaos|peers)\.test\.ts$/;

/** Characters of a failure that are shown: the message and the first frames of the stack. */
const MAX_WHY = 1_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    known: { type: 'string', default: new URL('known-tests.json', import.meta.url).pathname },
    write: { type: 'boolean', default: false },
    incomplete: { type: 'boolean', default: false },
  },
});

const runs = new Map();
const problems = [];
for (const report of positionals) {
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

/** Folder → tests that passed in it: `src/kds`, `test/e2e`, or `test` for the files in `test` itself. */
const passed = new Map();
for (const { file, times } of runs.values()) {
  if (SOMETIMES.test(file)) continue;
  const folder = dirname(relative(process.cwd(), file)).split('/').slice(0, 2).join('/');
  passed.set(folder, (passed.get(folder) ?? 0) + times);
}
const sum = (numbers) => [...numbers].reduce((total, number) => total + number, 0);

if (values.write) {
  const sorted = [...passed].toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(values.known, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
} else if (!values.incomplete) {
  const known = JSON.parse(readFileSync(values.known, 'utf8'));
  for (const [folder, number] of Object.entries(known)) {
    const here = passed.get(folder) ?? 0;
    if (here < Math.max(1, Math.floor(number * (1 - MAY_GO))))
      problems.push(`${folder}: ${here} tests passed, ${number} are known; ${REMEDY}`);
  }
  const [all, allKnown] = [sum(passed.values()), sum(Object.values(known))];
  if (all > allKnown * (1 + MAY_COME)) problems.push(`${all} tests passed, ${allKnown} are known; ${REMEDY}`);
}

for (const problem of problems) console.log(problem);
const passedIn = (end) => sum([...runs.values()].filter(({ file }) => file.endsWith(end)).map(({ times }) => times));
console.log(
  `${passedIn('')} passed (${passedIn('.e2e.test.ts')} e2e, ${passedIn('.pg.test.ts')} PostgreSQL), ${problems.length} failed`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
