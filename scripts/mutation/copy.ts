// A copy of the repository as it lies on the disk, where files are changed and tests run. The developer's files stay as they are.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type TestRun = {
  readonly outcome: 'passed' | 'failed' | 'timed out';
  /** Test file → milliseconds. */
  readonly took: ReadonlyMap<string, number>;
  readonly failed: readonly string[];
};

type Report = { readonly testResults: readonly { name: string; startTime: number; endTime: number; status: string }[] };

export class Copy implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'meridian-mutation-'));
  #child: ReturnType<typeof spawn> | undefined;

  constructor(top: string) {
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: top });
    for (const file of listed.toString().split('\0'))
      if (file !== '' && existsSync(join(top, file))) cpSync(join(top, file), join(this.folder, file));
    symlinkSync(join(top, 'node_modules'), join(this.folder, 'node_modules'));
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8');
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.folder, file), text);
  }

  /** Runs test files until one fails, or all of them (`isWhole`). */
  async runTests(files: readonly string[], options: { timeoutMs: number; isWhole?: boolean; hits?: string }): Promise<TestRun> {
    const report = join(this.folder, 'mutation-report.json');
    rmSync(report, { force: true });
    const args = [
      ...['node_modules/vitest/vitest.mjs', 'run', '--root', '.', '--config', 'scripts/mutation/vitest.config.ts'],
      ...['--reporter=json', `--outputFile=${report}`, ...(options.isWhole === true ? [] : ['--bail=1']), ...files],
    ];
    const env = { ...process.env, ...(options.hits === undefined ? {} : { MUTATION_HITS: options.hits }) };
    // A group of its own: what the tests started ends with them.
    const child = spawn(process.execPath, args, { cwd: this.folder, stdio: 'ignore', detached: true, env });
    this.#child = child;
    let isLate = false;
    const deadline = setTimeout(() => {
      isLate = true;
      this.#end();
    }, options.timeoutMs);
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    clearTimeout(deadline);
    this.#child = undefined;
    const outcome = isLate ? 'timed out' : code === 0 ? 'passed' : 'failed';
    if (!existsSync(report)) return { outcome, took: new Map(), failed: [] };
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
    const named = testResults.map((result) => ({
      ...result,
      file: result.name.slice(result.name.indexOf(this.folder) + this.folder.length + 1),
    }));
    return {
      outcome,
      took: new Map(named.map(({ file, startTime, endTime }) => [file, endTime - startTime])),
      failed: named.filter(({ status }) => status === 'failed').map(({ file }) => file),
    };
  }

  [Symbol.dispose](): void {
    this.#end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #end(): void {
    if (this.#child?.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}
