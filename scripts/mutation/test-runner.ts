// Runs test files in a folder, in one process that stays until a test is late (run-tests.ts).
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Message, Order, Outcome } from './run-tests.ts';

/** A process grows with each run: after so many there is a new one. */
const MAX_RUNS = 100;
/** Milliseconds that a process has to clean up. */
const MAX_CLOSE_MS = 10_000;
/** The file for the changes that each test file comes to, in the folder of the run. */
export const HITS = 'mutation-hits.jsonl';
/** A condition that a change makes impossible is waited for as long. */
const PATIENCE_MS = 30_000;

/**
 * `incomplete`: no test failed, and not all test files ran. `ended`: the process ended, as with an error that nothing catches in the
 * setup of a project.
 */
export type TestRun = Outcome & { readonly outcome: 'passed' | 'failed' | 'timed out' | 'incomplete' | 'ended' };

export class TestRunner implements Disposable {
  readonly #folder: string;
  readonly #args: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  readonly #changed = new Set<string>();
  #child: ChildProcess | undefined;
  #runs = 0;

  /**
   * @param hits file for the changes that each test file comes to (record-hits.ts)
   * @param isWhole all test files run; otherwise a run ends when one fails
   * @param isAlone one test file runs at a time
   * @param patienceMs how long a test waits for a condition
   */
  constructor(
    folder: string,
    hits: string,
    { isWhole, isAlone = false, patienceMs = PATIENCE_MS }: { isWhole: boolean; isAlone?: boolean; patienceMs?: number },
  ) {
    this.#folder = folder;
    this.#args = isWhole ? [] : ['bail'];
    this.#env = { ...process.env, TEST_PATIENCE_MS: String(patienceMs), MUTATION_HITS: hits };
    if (isAlone) this.#env['VITEST_MAX_WORKERS'] = '1';
  }

  /** The next run reads the file again. */
  changed(file: string): void {
    this.#changed.add(file);
  }

  /** @param timeoutMs how long a test may take */
  async run(files: readonly string[], timeoutMs: number): Promise<TestRun> {
    if (this.#runs >= MAX_RUNS) this.end();
    const child = this.#child ?? this.#start();
    this.#runs += 1;
    const order: Order = { files, changed: [...this.#changed] };
    this.#changed.clear();
    const answer = await outcomeOf(child, timeoutMs, order);
    if (answer !== 'late' && answer !== 'ended') {
      const hasPassed = answer.failed.length + answer.errors.length === 0;
      const isWhole = answer.took.length >= files.length;
      return { ...answer, outcome: !hasPassed ? 'failed' : isWhole ? 'passed' : 'incomplete' };
    }
    this.kill();
    return { outcome: answer === 'late' ? 'timed out' : 'ended', took: [], failed: [], late: [], errors: [] };
  }

  /** Ends the process, which removes its databases and temporary folders first, and then what its tests started. */
  end(): void {
    const child = this.#takeChild();
    if (child === undefined) return;
    const timer = setTimeout(() => killGroupOf(child), MAX_CLOSE_MS);
    child.once('exit', () => {
      clearTimeout(timer);
      killGroupOf(child);
    });
    if (child.connected) child.disconnect();
  }

  /** Ends the process, and what its tests started, at once. */
  kill(): void {
    const child = this.#takeChild();
    if (child !== undefined) killGroupOf(child);
  }

  #takeChild(): ChildProcess | undefined {
    const child = this.#child;
    this.#child = undefined;
    this.#runs = 0;
    return child;
  }

  [Symbol.dispose](): void {
    this.end();
  }

  #start(): ChildProcess {
    // A group of its own: what the tests start ends with it.
    const child = fork(join(this.#folder, 'scripts/mutation/run-tests.ts'), this.#args, {
      ...{ cwd: this.#folder, env: this.#env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'], detached: true },
    });
    this.#child = child;
    return child;
  }
}

function killGroupOf({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

/** The outcome of a run; `late` where no test ends in time, `ended` where the process ends before. */
async function outcomeOf(child: ChildProcess, timeoutMs: number, order: Order): Promise<Outcome | 'late' | 'ended'> {
  const { promise, resolve } = Promise.withResolvers<Outcome | 'late' | 'ended'>();
  const timer = setTimeout(resolve, timeoutMs, 'late');
  const end = (): void => resolve('ended');
  const take = (message: Message): void => {
    if (message === 'test ended') timer.refresh();
    else resolve(message);
  };
  child.on('exit', end).on('message', take);
  child.send(order);
  const outcome = await promise;
  clearTimeout(timer);
  child.off('exit', end).off('message', take);
  return outcome;
}
