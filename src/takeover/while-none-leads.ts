// Runs a task on a store that no control plane uses: under the lock of the leader.
import type { ResourceStore } from '../store/resource-store.ts';

/** The lock of the leader of a control plane. */
const LEADER = 'meridian-leader';

/**
 * Runs a task while no control plane leads on the store. Rejects with the error of the task.
 * @param patience ends the wait for the lock of a leader
 * @returns false if a control plane leads; the task has not run then
 */
export async function whileNoneLeads(
  store: Pick<ResourceStore, 'lead'>,
  task: () => Promise<void>,
  patience: AbortSignal,
): Promise<boolean> {
  const done = new AbortController();
  const runs: Promise<void>[] = [];
  const once = async (): Promise<void> => {
    const run = task();
    runs.push(run);
    await run.catch(() => undefined);
    done.abort();
  };
  await store.lead(LEADER, once, AbortSignal.any([patience, done.signal]));
  await Promise.all(runs);
  return runs.length > 0;
}
