// One process of the demo, with its log in a file and an orderly stop.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MeridianError } from '../../base/errors.ts';
import { STEP_LIMIT, STEP_MS } from './step-limit.ts';

export const MAIN = join(import.meta.dirname, '../main.ts');
const STOP_MS = 10_000;

type ChildOptions = {
  readonly name: string;
  /** The arguments of the meridian command. */
  readonly args: readonly string[];
  /** This URL answers 200 when the process is ready. */
  readonly readyUrl: string;
  /** The folder of its log. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
};

export class ChildProgram {
  readonly name: string;
  readonly #readyUrl: string;
  readonly #logFile: string;
  readonly #child: ChildProcess;
  #stopping = false;

  constructor({ name, args, readyUrl, folder, env }: ChildOptions) {
    this.name = name;
    this.#readyUrl = readyUrl;
    this.#logFile = join(folder, `${name}.log`);
    const log = openSync(this.#logFile, 'w');
    const [command, all] = withoutCoreDumps(process.execPath, [MAIN, ...args]);
    this.#child = spawn(command, all, {
      stdio: ['ignore', log, log],
      // Ctrl-C reaches only the demo, which then stops its children in order.
      detached: true,
      env: { ...inheritedEnv(), ...env },
    });
    closeSync(log);
  }

  /** Resolves when the process is ready. Rejects with the end of its log when it dies or does not become ready in time. */
  async ready(signal: AbortSignal): Promise<void> {
    const deadline = Date.now() + STEP_MS;
    while (Date.now() < deadline && !this.#hasEnded) {
      const answer = await fetch(this.#readyUrl, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
      if (answer?.ok === true) return;
      await delay(50, undefined, { signal });
    }
    throw await this.#failure(this.#hasEnded ? 'ended before it was ready' : `was not ready within ${STEP_LIMIT}`);
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
