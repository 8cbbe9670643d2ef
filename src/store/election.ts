// The election of a leader among the processes on one database: the lock of a session, which ends with its connection.
import type { Client } from 'pg';
import type { Clock } from '../base/clock.ts';
import { unlessAborted } from '../base/supervise.ts';
import { answerOf, endInTime, pingUntilLost } from './database.ts';
import { isUnavailable } from './pg-errors.ts';

/** The time between two attempts to become the leader, in milliseconds. */
const LEAD_AGAIN_MS = 1_000;

/** `session` opens a separate connection. */
type Sessions = { readonly session: () => Promise<Client>; readonly clock: Clock };
type Task = (signal: AbortSignal) => Promise<void>;

/**
 * Runs `task` while this process holds the lock `name`, again after each loss, until `signal` aborts.
 * @throws errors that are not the fault of the database
 */
export async function leadByLock({ session, clock }: Sessions, name: string, task: Task, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await leadOnce(await session(), clock, name, task, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!isUnavailable(error)) throw error;
    }
    await clock.sleep(LEAD_AGAIN_MS, signal);
  }
}

async function leadOnce(client: Client, clock: Clock, name: string, task: Task, signal: AbortSignal): Promise<void> {
  const lost = new AbortController();
  client.on('error', () => lost.abort());
  client.on('end', () => lost.abort());
  try {
    const lease = AbortSignal.any([signal, lost.signal]);
    // While another process leads, the same session tries again: a new connection costs the server more than a statement.
    while (!(await unlessAborted(signal, takesLock(client, clock, name)))) {
      await clock.sleep(LEAD_AGAIN_MS, lease);
      if (lease.aborted) return;
    }
    void pingUntilLost(client, clock, lease).catch(() => lost.abort());
    await task(lease);
  } finally {
    await endInTime(client, clock);
  }
}

async function takesLock(client: Client, clock: Clock, name: string): Promise<boolean> {
  const text = 'select pg_try_advisory_lock(hashtextextended($1, 0)) as held';
  const [row] = await answerOf<{ held: boolean }>(client, clock, text, [name]);
  return row?.held === true;
}
