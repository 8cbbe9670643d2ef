// One Envoy as a child process: its arguments, its log as lines of ours, its end.
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Logger } from '../base/log.ts';
import { LOG_FORMAT, readLogLine } from './envoy-log.ts';

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
export function envoyArguments({ config, logLevel, componentLogLevel, concurrency, drainMs }: EnvoyOptions): string[] {
  return [
    ...['--config-path', config, '--disable-hot-restart'],
    ...['--drain-time-s', String(Math.ceil(drainMs / 1_000)), '--drain-strategy', 'immediate'],
    ...['--log-level', logLevel, ...LOG_FORMAT],
    ...(componentLogLevel === '' ? [] : ['--component-log-level', componentLogLevel]),
    ...(concurrency === null ? ['--cpuset-threads'] : ['--concurrency', String(concurrency)]),
  ];
}

export class EnvoyProcess {
  /** Resolves when the process has ended and its log is read. */
  readonly ended: Promise<EnvoyEnd>;
  readonly #child: ChildProcess;
  #lastFault = '';

  constructor(options: EnvoyOptions, log: Logger) {
    // Access logs may go to /dev/stdout, which Envoy opens by its name: it must be what this process has, and no socket.
    const child = spawn(options.program, envoyArguments(options), {
      // Ctrl-C reaches every process of a group. Envoy would end before it has drained.
      detached: true,
      stdio: ['ignore', 'inherit', 'pipe'],
      env: withoutOurs(process.env),
    });
    this.#child = child;
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (line === '') return;
      const { level, component, text } = readLogLine(line);
      if (level === 'warn' || level === 'error') this.#lastFault = text;
      log[level]({ envoy: component }, text);
    });
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => child.pid === undefined && resolve({ how: error.message, code: 1 }));
      child.once('close', (code: number | null, signal: string | null) =>
        resolve({ how: signal === null ? `exit code ${String(code)}` : `signal ${signal}`, code }),
      );
    });
  }

  /** Undefined for a program that did not start. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The text of its last warning or error; `''` without any. */
  get lastFault(): string {
    return this.#lastFault;
  }

  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.#child.kill(signal);
  }
}

/** Variables of this program may hold a token. */
function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('MERIDIAN_')));
}
