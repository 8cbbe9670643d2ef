// One control plane of the demo as a child process, with its log in a file and an orderly stop.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MeridianError } from '../../base/errors.ts';

export const MAIN = join(import.meta.dirname, '../main.ts');
const START_MS = 60_000;
const STOP_MS = 10_000;

export class ControlPlaneProcess {
  readonly name: string;
  readonly api: string;
  readonly #diagnostics: string;
  readonly #logFile: string;
  readonly #child: ChildProcess;
  #stopping = false;

  constructor(options: {
    name: string;
    command: 'global' | 'zone';
    apiPort: number;
    diagnosticsPort: number;
    folder: string;
    env: Record<string, string>;
  }) {
    this.name = options.name;
    this.api = `http://127.0.0.1:${String(options.apiPort)}`;
    this.#diagnostics = `http://127.0.0.1:${String(options.diagnosticsPort)}`;
    this.#logFile = join(options.folder, `${options.name}.log`);
    const log = openSync(this.#logFile, 'w');
    const [command, args] = withoutCoreDumps(process.execPath, [MAIN, options.command, 'run']);
    this.#child = spawn(command, args, {
      stdio: ['ignore', log, log],
      // Ctrl-C reaches only the demo, which then stops its children in order.
      detached: true,
      env: {
        ...inheritedEnv(),
        MERIDIAN_GENERAL_WORK_DIR: options.folder,
        MERIDIAN_API_SERVER_HTTP_PORT: String(options.apiPort),
        MERIDIAN_API_SERVER_HTTP_INTERFACE: '127.0.0.1',
        MERIDIAN_DIAGNOSTICS_SERVER_PORT: String(options.diagnosticsPort),
        ...options.env,
      },
    });
    closeSync(log);
  }

  /** Resolves when the process is ready. Rejects with the end of its log when it dies or does not become ready in time. */
  async ready(signal: AbortSignal): Promise<void> {
    const deadline = Date.now() + START_MS;
    while (Date.now() < deadline && !this.#hasEnded) {
      const answer = await fetch(`${this.#diagnostics}/ready`, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
      if (answer?.ok === true) return;
      await delay(50, undefined, { signal });
    }
    throw await this.#failure(this.#hasEnded ? 'ended before it was ready' : 'was not ready within a minute');
  }

  /** Rejects when the process ends without a call of `stop`. */
  async died(): Promise<never> {
    if (!this.#hasEnded) await once(this.#child, 'exit');
    if (this.#stopping) return await new Promise<never>(() => undefined);
    throw await this.#failure('ended unexpectedly');
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#hasEnded) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const force = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(force);
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async #failure(what: string): Promise<MeridianError> {
    const log = await readFile(this.#logFile, 'utf8').catch(() => '');
    return new MeridianError(
      'unavailable',
      `${this.name} ${what}. The end of its log:\n${log.trimEnd().split('\n').slice(-8).join('\n')}`,
    );
  }
}

/** The environment without settings of the caller's own control planes. */
export function inheritedEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('MERIDIAN_')));
}

/** A crashed process must not leave a file with keys and tokens. */
function withoutCoreDumps(command: string, args: string[]): [string, string[]] {
  if (process.platform === 'win32') return [command, args];
  return ['/bin/sh', ['-c', 'ulimit -c 0; exec "$0" "$@"', command, ...args]];
}
