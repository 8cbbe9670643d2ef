// Replicas of a zone that were killed: each replica holds a lock of its database session, which ends with the process. The leader gets
// the lock of a dead one, and closes the subscriptions that it left open. A replica that lives and lost its session opens them again.
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { aborted } from '../base/supervise.ts';
import { isOnline, isOpen, subscriptionsOf } from '../resource/online-status.ts';
import { textOf } from '../resource/read-json.ts';
import { keyOf, type JsonObject, type Resource } from '../resource/types.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';
import { closedAt } from '../subscriptions/merge-subscriptions.ts';
import { holdOf } from './dataplane-insight.ts';

type DeadReplicasOptions = {
  readonly store: ResourceStore;
  /** The id of this replica. */
  readonly instanceId: string;
  readonly clock: Clock;
  readonly log: Logger;
};

/** The number of rows of one transaction. */
const BATCH = 500;
/** The number of attempts at the rows of a replica while others write them. */
const ATTEMPTS = 5;
/** The number of replicas that are watched at a time: each costs the leader a connection. */
const MAX_WATCHED = 8;
/** Milliseconds until a replica is watched again that opens its subscriptions again. */
const AGAIN_MS = 60_000;

function lockOf(instanceId: string): string {
  return `meridian-replica/${instanceId}`;
}

/** Shows to the other replicas that this one lives, until the signal aborts. @param shown is called when they can know it */
export async function showAlive(
  { store, instanceId }: DeadReplicasOptions,
  shown: () => void,
  signal: AbortSignal,
): Promise<void> {
  const hold = async (lease: AbortSignal): Promise<void> => {
    shown();
    await aborted(lease);
  };
  await store.lead(lockOf(instanceId), hold, signal);
}

export class DeadReplicas {
  readonly #options: DeadReplicasOptions;
  readonly #signal: AbortSignal;
  readonly #watched = new Set<string>();

  /** Makes the watch of all replicas. @param signal ends it */
  constructor(options: DeadReplicasOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** Watches the replicas with open subscriptions in an insight. */
  note({ spec }: Pick<Resource, 'spec'>): void {
    for (const id of instancesIn(spec)) {
      if (id === this.#options.instanceId || this.#watched.has(id) || this.#watched.size >= MAX_WATCHED) continue;
      this.#watched.add(id);
      void this.#watch(id);
    }
  }

  /** It never rejects. */
  async #watch(id: string): Promise<void> {
    const { store, clock, log } = this.#options;
    const done = new AbortController();
    const signal = AbortSignal.any([this.#signal, done.signal]);
    const isGone = async (): Promise<void> => {
      await this.#close(id);
      done.abort();
    };
    try {
      await store.lead(lockOf(id), isGone, signal);
    } catch (error) {
      if (!this.#signal.aborted) log.warn({ replica: id, reason: messageOf(error) }, 'a replica cannot be watched');
    }
    await clock.sleep(AGAIN_MS, this.#signal, { ref: false });
    this.#watched.delete(id);
  }

  /** Closes the subscriptions of a replica. A row that others write is read again. */
  async #close(id: string): Promise<void> {
    const { store, clock, log } = this.#options;
    let closed = 0;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const rows = (await store.list({ type: 'DataplaneInsight' })).filter(({ spec }) => instancesIn(spec).has(id));
      const writes = rows.map((row) => closing(row, id, clock.now()));
      let failed = 0;
      for (let from = 0; from < writes.length; from += BATCH) {
        const outcomes = await store.writeBatch(writes.slice(from, from + BATCH));
        failed += outcomes.filter(({ result }) => result === 'conflict').length;
      }
      closed += writes.length - failed;
      if (failed === 0) break;
    }
    if (closed > 0)
      log.info({ replica: id, proxies: closed }, 'a replica of this zone is gone: the streams that it had are closed');
  }
}

/** The replicas with open subscriptions in an insight. */
function instancesIn(spec: JsonObject): ReadonlySet<string> {
  const ids = subscriptionsOf(spec).flatMap((one) => (isOpen(one) ? [textOf(one['controlPlaneInstanceId'])] : []));
  return new Set(ids.filter((id) => id !== ''));
}

function closing(row: Resource, id: string, now: Date): Write {
  const subscriptions = subscriptionsOf(row.spec).map((one) =>
    textOf(one['controlPlaneInstanceId']) === id ? closedAt(one, now) : one,
  );
  const { labels, version } = row;
  const spec = { ...row.spec, subscriptions };
  const isLost = holdOf(row.status) === null && !isOnline(spec);
  const status = isLost ? { ...row.status, isLost } : row.status;
  return { op: 'update', key: keyOf(row), labels, spec, status, expectVersion: version };
}
