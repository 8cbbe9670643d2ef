// The priority of a thread for work that may wait, against the other threads of the machine.
import { constants, setPriority } from 'node:os';

/**
 * Gives the calling thread a tenth of the weight of a normal one, for as long as it lives. On Linux alone: elsewhere a priority belongs
 * to the whole process. A machine that forbids it leaves the priority as it is.
 */
export function lowerThreadPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The work is done all the same.
  }
}
