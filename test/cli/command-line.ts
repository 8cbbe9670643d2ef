// Runs commands with their own home folder against one global process on an embedded store.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddedFolder } from '../support/embedded-store.ts';
import { endWithTest } from '../support/children.ts';
import { MERIDIAN, WAIT } from '../support/control-plane.ts';
import { freePort } from '../support/free-port.ts';
import { runMeridian, runMeridianProcess, spawnMeridian, type Outcome } from '../support/run-meridian.ts';
import { vi } from 'vitest';

export type { Outcome };
type CommandOptions = { readonly input?: string; readonly env?: NodeJS.ProcessEnv };

export class CommandLine {
  readonly folder: string;
  readonly address: string;
  readonly #env: NodeJS.ProcessEnv;
  #global: ChildProcess | undefined;

  private constructor(folder: string, address: string) {
    this.folder = folder;
    this.address = address;
    const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith('MERIDIAN_'));
    // Compiled sources are kept where every other test keeps them: a new home would have none.
    const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
    this.#env = { ...Object.fromEntries(inherited), HOME: folder, TMPDIR: folder, XDG_CACHE_HOME: cache };
  }

  /** Starts a global and waits until it answers. */
  static async start(): Promise<CommandLine> {
    const [api, kds, diagnostics] = [await freePort(), await freePort(), await freePort()];
    const folder = await mkdtemp(join(tmpdir(), 'meridian-cli-'));
    const line = new CommandLine(folder, `http://127.0.0.1:${String(api)}`);
    const ports = ['--api-port', String(api), '--kds-port', String(kds), '--diagnostics-port', String(diagnostics)];
    const flags = [...ports, '--store-path', await embeddedFolder()];
    const child = endWithTest(
      spawn(MERIDIAN, ['global', 'run', ...flags, '--log-level', 'warn'], {
        env: line.#env,
        stdio: ['ignore', 'ignore', 'inherit'],
      }),
    );
    line.#global = child;
    try {
      const ready = vi.waitFor(async () => {
        const answer = await fetch(`http://127.0.0.1:${String(diagnostics)}/ready`);
        if (!answer.ok) throw new Error('the global is not ready');
      }, WAIT);
      const ended = once(child, 'exit').then(([code]) => {
        throw new Error(`the global ended with ${String(code)} before it was ready`);
      });
      ended.catch(() => undefined);
      await Promise.race([ready, ended]);
    } catch (error) {
      await line.stop();
      throw error;
    }
    return line;
  }

  async stop(): Promise<void> {
    const child = this.#global;
    if (child !== undefined && child.exitCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Runs a command in the folder, with the global unless `env` names another control plane. */
  async run(args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
    return await runMeridian(args, this.#placed(options));
  }

  /** The same in a process of its own, as a user runs it: for the commands with a store, and for what only a process shows. */
  async runProcess(args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
    return await runMeridianProcess(args, this.#placed(options));
  }

  /** Starts a command that does not end. */
  begin(args: readonly string[]): ChildProcess {
    return spawnMeridian(args, this.#placed({}));
  }

  #placed({ input = '', env = {} }: CommandOptions): { input: string; cwd: string; env: NodeJS.ProcessEnv } {
    return { input, cwd: this.folder, env: { ...this.#env, MERIDIAN_ADDRESS: this.address, ...env } };
  }

  async write(name: string, content: string, mode = 0o600): Promise<string> {
    await writeFile(join(this.folder, name), content, { mode });
    return name;
  }
}
