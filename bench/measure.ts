// Clocks and counters of the operating system: one monotonic clock for all processes, CPU time and memory of one of them.
import { existsSync, readFileSync } from 'node:fs';

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
  const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  // The second field is the command in parentheses, which may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** Resident memory of a process in MB (10⁶ bytes). */
export function memoryMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1];
  return (Number(kilobytes) * 1024) / 1e6;
}

/** @param share 0.5 for the median, 0.99 for the value that one in a hundred exceeds */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
