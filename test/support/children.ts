// Ends the processes of a test with the process of the test, even if a hook did not run.
import type { ChildProcess } from 'node:child_process';

const live = new Set<ChildProcess>();

function killAll(): void {
  for (const child of live) child.kill('SIGKILL');
}

/** Kills the child when this process ends, unless it has ended by then. Returns it. */
export function endWithTest<T extends ChildProcess>(child: T): T {
  if (live.size === 0) {
    process.on('exit', killAll);
    // vitest ends a worker that does not answer with a signal, without an `exit` event.
    process.once('SIGTERM', endBySignal);
  }
  live.add(child);
  child.once('exit', () => {
    live.delete(child);
    if (live.size > 0) return;
    process.off('exit', killAll);
    process.off('SIGTERM', endBySignal);
  });
  return child;
}

function endBySignal(): void {
  killAll();
  process.exit(143);
}
