// One Envoy as a child process: its arguments, its log as lines of ours, its end.
import { spawn, type ChildProcess } from 'node:child_process';
import { fstatSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Logger } from '../base/log.ts';
import { drainSeconds } from './bootstrap-request.ts';
import { LOG_FORMAT, readLogLine } from './envoy-log.ts';
import { makeNamedPipe, type NamedPipe } from './named-pipe.ts';
import { readLines } from './read-lines.ts';

export type EnvoyOptions = {
  readonly program: string;
  /** The bootstrap; the name of the file says its form. */
  readonly config: string;
  /** A level of Envoy, such as `warning`. */
  readonly logLevel: string;
  /** Pairs `component:level`, joined with commas; `''` for none. */
  readonly componentLogLevel: string;
  /** Worker threads; null for one a core. */
  readonly concurrency: number | null;
  readonly drainMs: number;
};

/** How an Envoy ended, in words. A signal has no exit code. */
export type EnvoyEnd = { readonly how: string; readonly code: number | null };

/** Hot restart would need a segment of shared memory for each proxy of a machine. */
function envoyArguments({ config, logLevel, componentLogLevel, concurrency, drainMs }: EnvoyOptions): string[] {
  return [
    ...['--config-path', config, '--disable-hot-restart'],
    ...['--drain-time-s', String(drainSeconds(drainMs)), '--drain-strategy', 'immediate'],
    ...['--log-level', logLevel, ...LOG_FORMAT],
    ...(componentLogLevel === '' ? [] : ['--component-log-level', componentLogLevel]),
    ...(concurrency === null ? ['--cpuset-threads'] : ['--concurrency', String(concurrency)]),
  ];
}

/** Access logs may go to /dev/stdout and /dev/stderr. Null: the stdout of this process, or a pair of sockets for stderr. */
type Outputs = { readonly stdout: NamedPipe | null; readonly stderr: NamedPipe | null };

export class EnvoyProcess {
  /** Resolves when the process has ended and its log is read. */
  readonly ended: Promise<EnvoyEnd>;
  readonly #child: ChildProcess;
  #lastFault = '';

  private constructor(options: EnvoyOptions, { stdout, stderr }: Outputs, log: Logger) {
    const child = spawn(options.program, envoyArguments(options), {
      // Ctrl-C reaches every process of a group. Envoy would end before it has drained.
      detached: true,
      stdio: ['ignore', stdout?.writeFd ?? 'inherit', stderr?.writeFd ?? 'pipe'],
      env: withoutOurs(process.env),
    });
    this.#child = child;
    for (const pipe of [stdout, stderr]) pipe?.closeWriter();
    if (stdout !== null) passOn(stdout.reader);
    const lines = stderr?.reader ?? child.stderr;
    const isRead = Promise.all([lines, stdout?.reader].map((stream) => endOf(stream ?? null)));
    if (lines !== null)
      readLines(lines, (line) => {
        if (line === '') return;
        const { level, component, text } = readLogLine(line);
        if (level === 'warn' || level === 'error') this.#lastFault = text;
        log[level]({ envoy: component }, text);
      });
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => child.pid === undefined && resolve({ how: error.message, code: 1 }));
      child.once('close', (code: number | null, signal: string | null) => {
        const how = signal === null ? `exit code ${String(code)}` : `signal ${signal}`;
        void isRead.then(() => resolve({ how, code }));
      });
    });
  }

  /** @param folder where pipes are made for its output */
  static async start(options: EnvoyOptions, folder: string, log: Logger): Promise<EnvoyProcess> {
    const made = async (name: string): Promise<NamedPipe | null> => {
      const path = join(folder, name);
      const pipe = await makeNamedPipe(path);
      // Who has it open can open it again by the name of the descriptor.
      await rm(path, { force: true });
      return pipe;
    };
    const stdout = isSocket(1) ? await made('stdout.pipe') : null;
    return new EnvoyProcess(options, { stdout, stderr: await made('stderr.pipe') }, log);
  }

  /** The text of its last warning or error; `''` without any. */
  get lastFault(): string {
    return this.#lastFault;
  }

  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.#child.kill(signal);
  }
}

/** To the stdout of this process. When it is broken the rest is read and dropped: Envoy must not wait for a reader, and its end must be seen. */
function passOn(reader: Readable): void {
  const drop = (): void => {
    reader.unpipe(process.stdout);
    reader.resume();
  };
  process.stdout.on('error', drop);
  reader.once('close', () => process.stdout.off('error', drop));
  reader.pipe(process.stdout, { end: false });
}

function isSocket(fd: number): boolean {
  try {
    return fstatSync(fd).isSocket();
  } catch {
    return false;
  }
}

async function endOf(stream: Readable | null): Promise<void> {
  if (stream === null || stream.destroyed || stream.readableEnded) return;
  await new Promise<void>((done) => stream.once('close', () => done()));
}

/** Variables of this program may hold a token. */
function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('MERIDIAN_')));
}
