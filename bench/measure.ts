// Clocks and counters of the operating system: one monotonic clock for all processes, CPU time and memory of one of them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Ticks a second in /proc; the kernel shows 100 to programs whatever it uses itself. */
const TICKS = 100;

/** Milliseconds of the machine's monotonic clock, the same in every process. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** @throws Error where processes cannot be measured */
export function requireProc(): void {
  if (!existsSync('/proc/self/stat')) throw new Error('CPU and memory of processes are read from /proc, which only Linux has');
}

/** Milliseconds of CPU of this process or thread, from what node counts in microseconds. */
export function cpuMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000;
}

/** Seconds of CPU, user and system, that a process has used in all its threads. */
export function cpuSeconds(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/**
 * The same in nanoseconds, as the scheduler counts them: `cpuSeconds` has steps of 10 ms. It misses threads that have ended.
 * @throws Error where the kernel has no schedstat
 */
export function cpuNanoseconds(pid: number): number {
  const folder = `/proc/${String(pid)}/task`;
  const ofTask = (task: string): number => Number(readFileSync(`${folder}/${task}/schedstat`, 'utf8').split(' ')[0]);
  return readdirSync(folder).reduce((sum, task) => sum + ofTask(task), 0);
}

/**
 * Seconds of CPU of all processes of a server: those that its first process has started, and those of them that have ended. The first
 * process itself does not count.
 * @param pid one of them, such as the session of a PostgreSQL server
 */
export function cpuSecondsOfServer(pid: number): number {
  const first = Number(statOf(pid)[1]);
  for (;;) {
    const ended = cpuSecondsOfEnded(first);
    const living = childrenOf(first).reduce((sum, one) => sum + (ofLiving(() => cpuNanoseconds(one)) ?? 0) / 1e9, 0);
    // Else one has ended meanwhile, and counts in both or in none.
    if (cpuSecondsOfEnded(first) === ended) return ended + living;
  }
}

/** Seconds of CPU of the children that a process has waited for. */
function cpuSecondsOfEnded(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}

function childrenOf(pid: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.map(Number).filter((one) => ofLiving(() => Number(statOf(one)[1])) === pid);
}

/** Null for a process that has ended. */
function ofLiving<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** The fields after the command, which is in parentheses and may hold anything. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Resident memory of a process in MB (10⁶ bytes). */
export function memoryMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1];
  return (Number(kilobytes) * 1024) / 1e6;
}

/** What a process spends, and how long it takes, while a task lasts. */
export async function spend<T>(
  pid: number,
  task: () => Promise<T>,
): Promise<{ readonly result: T; readonly seconds: number; readonly cpuSeconds: number }> {
  const before = { cpu: cpuSeconds(pid), at: nowMs() };
  const result = await task();
  return { result, seconds: (nowMs() - before.at) / 1_000, cpuSeconds: cpuSeconds(pid) - before.cpu };
}

/** @property warmUp changes before the counted ones: the first run in code that is not compiled yet */
export type Counts = { readonly warmUp: number; readonly changes: number };
/** @property cpuMs of each counted change */
export type Repeated = {
  readonly latencies: readonly number[];
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMs: number;
};

/**
 * The same change again and again, one after the other.
 * @param cpu seconds that were used so far
 * @param change of that number, from 1; its milliseconds
 */
export async function repeat(
  cpu: () => number,
  { warmUp, changes }: Counts,
  change: (count: number) => Promise<number>,
): Promise<Repeated> {
  const latencies: number[] = [];
  for (let count = 1; count <= warmUp; count += 1) await change(count);
  const before = cpu();
  for (let count = warmUp + 1; count <= warmUp + changes; count += 1) latencies.push(await change(count));
  const cpuMs = ((cpu() - before) * 1_000) / changes;
  return { latencies, p50Ms: percentile(latencies, 0.5), p99Ms: percentile(latencies, 0.99), cpuMs };
}

/** For `repeat`, where only the time counts. */
export const noCpu = (): number => 0;

/** @param seen when the change was there, in milliseconds of `nowMs` @returns milliseconds from before the write */
export async function untilSeen(seen: Promise<number>, write: () => Promise<unknown>): Promise<number> {
  const began = nowMs();
  const [at] = await Promise.all([seen, write()]);
  return at - began;
}

/** @param share 0.5 for the median, 0.99 for the value that one in a hundred exceeds */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** A percentile of values beside something, against the same without it. */
export function ratioOf(beside: readonly number[], alone: readonly number[], share: number): number {
  return percentile(beside, share) / percentile(alone, share);
}
