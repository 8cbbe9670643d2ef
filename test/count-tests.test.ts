// The floor of counted tests: a folder that loses tests fails the run, also where another has more.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from './support/temporary-folder.ts';

const PROGRAM = join(import.meta.dirname, '../.ci/count-tests.mjs');
const REMEDY = 'if that is meant, write the new numbers with bash .ci/run --write-known-tests';
const KNOWN = { 'src/kds': 100, 'test/e2e': 50 };

type Report = { readonly success: boolean; readonly testResults: readonly object[] };

/** A report in which so many tests of each file passed. */
function report(folder: string, files: Record<string, number>, status = 'passed'): Report {
  return {
    success: true,
    testResults: Object.entries(files).map(([file, number]) => ({
      name: join(folder, file),
      message: '',
      assertionResults: Array.from({ length: number }, (_, index) => ({ fullName: `test ${String(index)}`, status })),
    })),
  };
}

/** Runs the program in a folder of its own. */
async function count(reportsIn: (folder: string) => readonly Report[], ...options: readonly string[]) {
  const folder = temporaryFolder();
  const known = join(folder, 'known.json');
  await mkdir(join(folder, 'reports'));
  await writeFile(known, JSON.stringify(KNOWN));
  const names = await Promise.all(
    reportsIn(folder).map(async (one, index) => {
      const name = join(folder, 'reports', `${String(index)}.json`);
      await writeFile(name, JSON.stringify(one));
      return name;
    }),
  );
  const args = [PROGRAM, '--known', known, ...options, ...names];
  const { stdout, code } = await promisify(execFile)(process.execPath, args, { cwd: folder }).then(
    ({ stdout: text }) => ({ stdout: text, code: 0 }),
    (error: unknown) => error as { stdout: string; code: number },
  );
  return { said: stdout.trimEnd().split('\n'), code, known: JSON.parse(await readFile(known, 'utf8')) as unknown };
}

describe('count-tests', () => {
  it('passes when each folder has its known tests, in any of its files and folders', async () => {
    const { said, code } = await count((folder) => [
      report(folder, { 'src/kds/a.test.ts': 60, 'src/kds/rows/b.test.ts': 40 }),
      report(folder, { 'test/e2e/a.e2e.test.ts': 50 }),
    ]);
    expect([said, code]).toEqual([['150 passed (50 e2e, 0 PostgreSQL), 0 failed'], 0]);
  });

  it('fails when more than 2 % of a folder are gone, although another folder has many more', async () => {
    const { said, code } = await count((folder) => [report(folder, { 'src/kds/a.test.ts': 97, 'test/e2e/a.e2e.test.ts': 60 })]);
    expect([said, code]).toEqual([
      [`src/kds: 97 tests passed, 100 are known; ${REMEDY}`, '157 passed (60 e2e, 0 PostgreSQL), 1 failed'],
      1,
    ]);
  });

  it('fails when a folder is gone', async () => {
    const { said, code } = await count((folder) => [report(folder, { 'src/kds/a.test.ts': 100 })]);
    expect([said[0], code]).toEqual([`test/e2e: 0 tests passed, 50 are known; ${REMEDY}`, 1]);
  });

  it('compares nothing after a part that failed', async () => {
    const { said, code } = await count((folder) => [report(folder, { 'src/kds/a.test.ts': 3 })], '--incomplete');
    expect([said, code]).toEqual([['3 passed (0 e2e, 0 PostgreSQL), 0 failed'], 0]);
  });

  it('fails when the known numbers are far below what there is', async () => {
    const { said, code } = await count((folder) => [report(folder, { 'src/kds/a.test.ts': 120, 'test/e2e/a.e2e.test.ts': 50 })]);
    expect([said[0], code]).toEqual([`170 tests passed, 150 are known; ${REMEDY}`, 1]);
  });

  it('counts a test of two reports once, and neither chaos tests nor those beside peers', async () => {
    const { code } = await count((folder) => [
      report(folder, { 'src/kds/a.test.ts': 100, 'test/e2e/a.e2e.test.ts': 50, 'test/chaos/a.chaos.test.ts': 40 }),
      report(folder, { 'src/kds/a.test.ts': 100, 'test/peers/a.peers.test.ts': 40 }),
    ]);
    expect(code).toBe(0);
  });

  it('fails with a test that was left out', async () => {
    const { said, code } = await count((folder) => [
      report(folder, { 'src/kds/a.test.ts': 100, 'test/e2e/a.e2e.test.ts': 50 }),
      report(folder, { 'src/kds/b.test.ts': 1 }, 'skipped'),
    ]);
    expect([said[0], code]).toEqual([expect.stringMatching(/^skipped: .*src\/kds\/b.test.ts test 0$/), 1]);
  });

  it('writes the numbers of the reports', async () => {
    const { code, known } = await count((folder) => [report(folder, { 'test/a.test.ts': 3, 'src/kds/a.test.ts': 7 })], '--write');
    expect([code, known]).toEqual([0, { 'src/kds': 7, test: 3 }]);
  });
});
