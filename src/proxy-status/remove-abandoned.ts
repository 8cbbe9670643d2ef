// Removes the Dataplanes that proxies brought and do not hold any more; leader only. The insight says who holds one: it is removed
// together with its Dataplane at the version that was read, so a proxy that comes back at the same moment keeps both or brings both.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { together } from '../base/supervise.ts';
import { isOnline, subscriptionsOf } from '../resource/online-status.ts';
import { nameText, type Resource, type ResourceKey } from '../resource/types.ts';
import { followRows } from '../store/follow-rows.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { timeOf } from '../subscriptions/merge-subscriptions.ts';
import { DeadReplicas } from './dead-replicas.ts';
import { holdOf } from './dataplane-insight.ts';
import { dataplaneKey, insightKey } from './proxy-keys.ts';

type RemoveAbandonedOptions = {
  readonly store: ResourceStore;
  readonly log: Logger;
  readonly clock: Clock;
  /** The value of `xdsServer.dataplaneDeregistrationDelay` in milliseconds: the delay for a proxy whose stream ended. */
  readonly graceMs: number;
  /** The id of this replica. */
  readonly instanceId: string;
};

/** The delay for a proxy whose control plane ended: an Envoy waits up to 30 s before it tries again. */
const LOST_MS = 60_000;
/** Milliseconds until a removal is tried again that others prevented with a write. */
const RETRY_MS = 1_000;

/** Runs until the signal aborts. */
export async function removeAbandoned(options: RemoveAbandonedOptions, signal: AbortSignal): Promise<void> {
  const remover = new Remover(options, new DeadReplicas(options, signal));
  await together(
    signal,
    (either) => remover.follow(either),
    (either) => remover.work(either),
  );
}

/**
 * The time at which a Dataplane is to be removed, in milliseconds since 1970; null while it is held, and for one that no proxy
 * brought.
 * @param began the start of this leader: before that possibly no control plane ran
 */
export function removalTime({ spec, status }: Pick<Resource, 'spec' | 'status'>, began: number, graceMs: number): number | null {
  const hold = holdOf(status);
  if (hold === null || isOnline(spec)) return null;
  const ends = subscriptionsOf(spec).map(({ disconnectTime }) => timeOf(disconnectTime));
  const end = ends.filter((time) => !Number.isNaN(time)).reduce((a, b) => Math.max(a, b), 0);
  return hold !== 'held' && end >= began ? end + graceMs : Math.max(end, began) + Math.max(graceMs, LOST_MS);
}

/**
 * @property version the version of its insight when the time was set
 * @property time the time of its removal, in milliseconds of `elapsed`: the date may be set meanwhile
 */
type Due = { readonly at: Pick<ResourceKey, 'mesh' | 'name'>; readonly version: number; readonly time: number };

class Remover {
  readonly #options: RemoveAbandonedOptions;
  readonly #replicas: DeadReplicas;
  /** The start of this leader, in milliseconds of `elapsed`. */
  readonly #began: number;
  /** The planned removals, by name of the Dataplane. */
  readonly #due = new Map<string, Due>();
  #wake = (): void => undefined;

  constructor(options: RemoveAbandonedOptions, replicas: DeadReplicas) {
    this.#options = options;
    this.#replicas = replicas;
    this.#began = options.clock.elapsed();
  }

  async follow(signal: AbortSignal): Promise<void> {
    const take = (rows: readonly Resource[], keys: readonly ResourceKey[] | null): void => {
      if (keys === null) this.#due.clear();
      else for (const key of keys) this.#due.delete(nameText(key));
      for (const row of rows) this.#note(row);
      this.#wake();
    };
    await followRows(this.#options.store, { type: 'DataplaneInsight', take }, this.#options, signal);
  }

  async work(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      const next = [...this.#due.values()].reduce((least, { time }) => Math.min(least, time), Number.POSITIVE_INFINITY);
      const wait = Math.min(Math.max(next - clock.elapsed(), 0), LOST_MS);
      if (wait > 0) await clock.sleep(wait, AbortSignal.any([signal, woken.signal]));
      if (!signal.aborted) await this.#removeDue();
    }
  }

  #note(row: Resource): void {
    this.#replicas.note(row);
    const { graceMs, clock } = this.#options;
    const [now, elapsed] = [clock.now().getTime(), clock.elapsed()];
    const time = removalTime(row, now - (elapsed - this.#began), graceMs);
    if (time === null) return;
    const { mesh, name, version } = row;
    // An end in the future was written before the date was set back, or by the clock of another replica.
    const wait = Math.min(time - now, Math.max(graceMs, LOST_MS));
    this.#due.set(nameText(row), { at: { mesh, name }, version, time: elapsed + wait });
  }

  async #removeDue(): Promise<void> {
    const now = this.#options.clock.elapsed();
    for (const [id, due] of [...this.#due]) {
      if (due.time > now) continue;
      this.#due.delete(id);
      await this.#remove(due);
    }
  }

  async #remove({ at, version }: Due): Promise<void> {
    const { store, log, clock } = this.#options;
    const rows = await store.getMany([dataplaneKey(at), insightKey(at)]);
    const insight = rows.find(({ type }) => type === 'DataplaneInsight');
    const dataplane = rows.find(({ type }) => type === 'Dataplane');
    if (insight === undefined || dataplane === undefined) return;
    if (insight.version !== version || isOnline(insight.spec)) return this.#note(insight);
    const outcomes = await store.writeAll([
      { op: 'delete', key: insightKey(at), expectVersion: version },
      { op: 'delete', key: dataplaneKey(at), expectVersion: dataplane.version },
    ]);
    if (outcomes.every(({ result }) => result === 'deleted'))
      log.info({ ...at, hold: holdOf(insight.status) }, 'a proxy is gone, and its Dataplane with it');
    // One of them was written meanwhile, and the feed of insights does not name a Dataplane.
    else this.#due.set(nameText(at), { at, version, time: clock.elapsed() + RETRY_MS });
  }
}
