// Every process that a run starts. Invariant: none outlives it, whether it ends well, fails or is interrupted.
import { fork, spawn, type ChildProcess, type ForkOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MERIDIAN = join(import.meta.dirname, '../bin/meridian');
/** A process that does not end by itself within this is killed. A control plane drains, and ends within 20 s (src/control-plane/host.ts). */
const END_MS = 30_000;
/** Lines of the log of a control plane that failed. */
const SHOWN_LINES = 20;

let logs = 0;

const live = new Set<ChildProcess>();

process.once('exit', () => {
  for (const child of live) child.kill('SIGKILL');
});

/** A script of this folder in a process of its own, with a channel for messages. */
export function startScript(file: string, options: ForkOptions = {}): ChildProcess {
  return track(fork(join(import.meta.dirname, file), { ...options, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }));
}

/** A script that runs as `bin/meridian` runs a control plane: its memory can be compared. */
export function startLikeMeridian(file: string): ChildProcess {
  const flags = ['--max-semi-space-size=4', '--no-parallel-scavenge', '--heap-growing-percent=100'];
  const allocator = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072' };
  return startScript(file, { execArgv: flags, env: { ...process.env, ...allocator } });
}

/** What it logs goes to a file, as it would in earnest: every write is audited. The end of it is shown if the process fails. */
export function startMeridianCommand(args: readonly string[], env: Record<string, string>): ChildProcess {
  const log = join(tmpdir(), `meridian-bench-${String(process.pid)}-${String((logs += 1))}.log`);
  const file = openSync(log, 'w');
  const child = track(spawn(MERIDIAN, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', file] }));
  closeSync(file);
  child.once('exit', (code) => {
    if (code !== null && code !== 0)
      process.stderr.write(`${readFileSync(log, 'utf8').split('\n').slice(-SHOWN_LINES).join('\n')}\n`);
    rmSync(log, { force: true });
  });
  return child;
}

export async function endChild(child: ChildProcess): Promise<void> {
  if (!live.has(child)) return;
  const ended = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(timer);
}

export async function endChildren(): Promise<void> {
  await Promise.all([...live].map(endChild));
}

/**
 * Sends a command to a child, and waits for its first report that fits.
 * @param fits returns what the report says; null where it is about something else
 * @param limitMs of the wait; without it the wait lasts as long as the child runs
 * @throws Error when the child ends before it has answered, or is late
 */
export async function ask<T>(
  child: ChildProcess,
  command: object | null,
  fits: (report: never) => T | null,
  limitMs?: number,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onExit = (code: number | null): void => reject(new Error(`a process ended with ${String(code)} before it answered`));
  const take = (report: unknown): void => {
    const found = fits(report as never);
    if (found !== null) resolve(found);
  };
  child.once('exit', onExit).on('message', take);
  const late = (): void => reject(new Error(`a process did not answer within ${String((limitMs ?? 0) / 1000)} s`));
  const limit = limitMs === undefined ? undefined : setTimeout(late, limitMs);
  try {
    if (command !== null) child.send(command);
    return await promise;
  } finally {
    clearTimeout(limit);
    child.off('exit', onExit).off('message', take);
  }
}

/** The answer to a command that has one alone. */
export async function answerOf<R>(child: ChildProcess, command: object, limitMs?: number): Promise<R> {
  return await ask(child, command, (report: R) => report, limitMs);
}

function track(child: ChildProcess): ChildProcess {
  live.add(child);
  child.once('exit', () => live.delete(child));
  child.once('error', () => live.delete(child));
  return child;
}
