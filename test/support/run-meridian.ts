// Runs `meridian` commands for tests. A new process costs a quarter of a second of CPU, nearly all of it for modules that the last one
// had too. So the commands of a worker share a process (command-process.ts), which gives each its own arguments, input, environment and
// folder. `spawnMeridian` starts the program as a user does: for signals, pipes and commands that do not end.
import { fork, spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { endWithTest } from './children.ts';
import type { Call } from './command-process.ts';
import { MERIDIAN } from './control-plane.ts';

const NODE = join(import.meta.dirname, '../../node_modules/node/bin/node');

export type Outcome = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

export type RunOptions = {
  readonly input?: string;
  /** Instead of that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
};

/** The process of the commands; undefined before the first. */
let shared: ChildProcess | undefined;
let isBusy = false;

/** Runs a command in the shared process, or in one of its own while another runs there. A failure is an outcome, not an error. */
export async function runMeridian(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  if (isBusy) return await runMeridianProcess(args, options);
  isBusy = true;
  try {
    const { input = '', env = process.env, cwd = process.cwd() } = options;
    return await ask({ args, input, env: { ...env }, cwd });
  } finally {
    isBusy = false;
  }
}

/** The output of a command. @throws Error with all that it printed when it fails */
export async function outputOf(args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await runMeridian(args, options);
  if (code !== 0) throw new Error(`meridian ${args.join(' ')} ended with ${String(code)}\n${stderr}${stdout}`);
  return stdout;
}

/** Runs a command as a user does. */
export async function runMeridianProcess(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const child = spawnMeridian(args, options);
  child.stdin.end(options.input ?? '');
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}

/** Starts a command that does not end, or that gets a signal. */
export function spawnMeridian(
  args: readonly string[],
  { env = process.env, cwd }: Omit<RunOptions, 'input'> = {},
): ChildProcessWithoutNullStreams {
  return endWithTest(spawn(MERIDIAN, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] }));
}

async function ask(call: Call): Promise<Outcome> {
  const child = (shared ??= start());
  // It lets the worker end, but not while a command runs.
  child.ref();
  child.channel?.ref();
  const end = new AbortController();
  try {
    child.send(call);
    const ended = once(child, 'exit', { signal: end.signal }).then(([code, signal]) => {
      shared = undefined;
      throw new Error(`the process of the commands ended (${String(signal ?? code)}) in: meridian ${call.args.join(' ')}`);
    });
    const answered = once(child, 'message', { signal: end.signal }).then(([outcome]) => outcome as Outcome);
    return await Promise.race([answered, ended]);
  } finally {
    end.abort();
    child.unref();
    child.channel?.unref();
  }
}

function start(): ChildProcess {
  const program = join(import.meta.dirname, 'command-process.ts');
  return endWithTest(fork(program, { execPath: NODE, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }));
}
