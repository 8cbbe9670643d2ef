// Derives rows of a zone from other rows; leader only. Event-driven: rows that the feed names are read again, and a plan covers only
// the rows that depend on them. Invariants: the table is the truth, so it can stop and start at any time; a write requires the
// version that was read; equal rows are not written.
import { rest, type Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { together } from '../base/supervise.ts';
import { keyText, type Resource, type ResourceKey } from '../resource/types.ts';
import { FeedFollower, type Hints } from '../store/follow-feed.ts';
import type { ResourceMeta, ResourceStore, Write } from '../store/resource-store.ts';

/** Hints that arrive within this time are handled in one pass, in milliseconds. */
const GATHER_MS = 5;
/**
 * The interval of the safety pass in milliseconds. If a row has changed since the last one, it plans all rows and reads those that changed
 * without a hint.
 */
const SAFETY_MS = 60_000;
/** The number of rows of one statement. */
const BATCH = 500;

/** `row` is the wanted row. `before` is the stored row, undefined for a row to create. */
export type PlannedWrite =
  | { readonly op: 'put'; readonly row: Resource; readonly before: Resource | undefined }
  | { readonly op: 'delete'; readonly before: Resource };

/** The rows that a reconciler reads and writes. It marks the rows that a change may affect. */
export type ReconciledView = {
  /** Adds a new or changed row of the store. */
  put(row: Resource): void;
  /** Removes a row that the store does not have. */
  remove(key: ResourceKey): void;
  /** The known rows of a type. Rows may be removed during the iteration. */
  keysOf(type: string): Iterable<ResourceKey>;
  /** Adds a row that was just written, so that its change in the feed marks nothing. */
  accept(row: Resource): void;
  /** Marks an unchanged row for another pass, because a write of it failed. */
  touch(key: ResourceKey): void;
  /** Marks everything. */
  touchAll(): void;
};

type RowsOfView = Pick<ReconciledView, 'put' | 'remove' | 'keysOf'>;

export type Reconciler = {
  /** The types of the view's rows, in the order with the cheapest first read. */
  readonly types: readonly string[];
  readonly view: ReconciledView;
  /** Plans the marked rows and clears the marks. `waitMs`: milliseconds until the next plan without a change, null if there is none. */
  readonly plan: (at: Moment) => { readonly writes: readonly PlannedWrite[]; readonly waitMs: number | null };
};

/** The time of a plan. Somebody can set the date of a machine: durations are differences of `elapsed`. */
export type Moment = {
  /** The time for dates that rows hold. */
  readonly now: Date;
  /** The elapsed time of the clock, in milliseconds. */
  readonly elapsed: number;
};

type ReconcileOptions = {
  readonly store: ResourceStore;
  readonly log: Logger;
  readonly clock: Clock;
  /** The interval at which everything is compared and planned again, in milliseconds; a minute if left out. */
  readonly safetyMs?: number;
  /** It is called after every pass, for measurements. */
  readonly onPass?: (pass: Pass) => void;
};

/** A finished pass: its writes are committed. */
export type Pass = {
  /** Whether everything was read or compared. */
  readonly isFull: boolean;
  readonly writes: number;
  readonly durationMs: number;
};

/** Runs until the signal aborts. Rejects when the store does not answer: start it again with an empty view. */
export async function reconcile(reconciler: Reconciler, options: ReconcileOptions, signal: AbortSignal): Promise<void> {
  const loop = new Loop(reconciler, options);
  await together(
    signal,
    (either) => loop.follow(either),
    (either) => loop.work(either),
  );
}

class Loop {
  readonly #reconciler: Reconciler;
  readonly #options: ReconcileOptions;
  readonly #follower: FeedFollower;
  /** States of the rows that the view has, by the text of their key. */
  readonly #states = new Map<string, string>();
  /** The view, with a note of the states of its rows. */
  readonly #noted: RowsOfView;
  /** The state of the store before the last comparison of all rows. With null they are compared in any case. */
  #compared: string | null = null;

  constructor(reconciler: Reconciler, options: ReconcileOptions) {
    this.#reconciler = reconciler;
    this.#options = options;
    const { view } = reconciler;
    this.#noted = {
      keysOf: (type) => view.keysOf(type),
      put: (row) => {
        this.#states.set(keyText(row), stateOf(row));
        view.put(row);
      },
      remove: (key) => {
        this.#states.delete(keyText(key));
        view.remove(key);
      },
    };
    this.#follower = new FeedFollower({ ...options, types: reconciler.types, gatherMs: GATHER_MS });
  }

  async follow(signal: AbortSignal): Promise<void> {
    await this.#follower.follow(signal);
  }

  async work(signal: AbortSignal): Promise<void> {
    const { clock, safetyMs = SAFETY_MS } = this.#options;
    let safetyAt = clock.elapsed() + safetyMs;
    let wakeAt = Infinity;
    while (!signal.aborted) {
      const wait = Math.min(safetyAt, wakeAt) - clock.elapsed();
      const hints = await this.#follower.next(signal, Math.max(wait, 0));
      if (signal.aborted) return;
      const began = clock.elapsed();
      const isSafety = began >= safetyAt;
      if (isSafety) safetyAt = began + safetyMs;
      wakeAt = await this.#pass(hints ?? { types: [], keys: [] }, isSafety);
      await rest(clock, began, 1, signal);
    }
  }

  /**
   * One pass: reads the rows that the hints name, plans, writes.
   * @returns the time to run again without a hint, as `elapsed` of the clock
   */
  async #pass(hints: Pick<Hints, 'types' | 'keys'>, isSafety: boolean): Promise<number> {
    const { clock } = this.#options;
    const began = clock.elapsed();
    const { types, plan } = this.#reconciler;
    await this.#read(hints);
    if (isSafety) await this.#compare();
    const plannedAt = clock.elapsed();
    const { writes, waitMs } = plan({ now: clock.now(), elapsed: plannedAt });
    await this.#write(writes);
    const isFull = isSafety || hints.types.length === types.length;
    this.#options.onPass?.({ isFull, writes: writes.length, durationMs: clock.elapsed() - began });
    return waitMs === null ? Infinity : plannedAt + waitMs;
  }

  async #read({ types, keys }: Pick<Hints, 'types' | 'keys'>): Promise<void> {
    const { store } = this.#options;
    for (const type of types) putAll(this.#noted, type, await store.list({ type }));
    const rows = new Map((await store.getMany(keys)).map((row) => [keyText(row), row]));
    for (const key of keys) {
      const row = rows.get(keyText(key));
      if (row === undefined) this.#noted.remove(key);
      else this.#noted.put(row);
    }
  }

  /**
   * Reads the rows whose state differs from that of the view: all Dataplanes of a zone are many megabytes of JSON. Where no row has
   * changed since the last time, all is as it was planned then.
   */
  async #compare(): Promise<void> {
    const { store } = this.#options;
    const { types, view } = this.#reconciler;
    const digest = await store.digest(types);
    if (digest === this.#compared) return;
    view.touchAll();
    for (const type of types) {
      const metas = await store.listMeta({ types: [type] });
      keepOnly(this.#noted, type, metas);
      const changed = metas.filter((meta) => this.#states.get(keyText(meta)) !== stateOf(meta));
      for (let from = 0; from < changed.length; from += BATCH)
        await this.#read({ types: [], keys: changed.slice(from, from + BATCH) });
    }
    this.#compared = digest;
  }

  async #write(planned: readonly PlannedWrite[]): Promise<void> {
    if (planned.length === 0) return;
    const { store, log } = this.#options;
    const { view } = this.#reconciler;
    const outcomes = await store.writeBatch(planned.map(writeOf));
    for (const [index, outcome] of outcomes.entries()) {
      const write = planned[index];
      if (write === undefined) continue;
      const { type, mesh, name } = write.op === 'put' ? write.row : write.before;
      const key = { type, mesh, name };
      if ('version' in outcome) {
        // The time of the write is not known here: the next comparison reads the row.
        this.#states.delete(keyText(key));
        if (write.op === 'put') view.accept({ ...write.row, version: outcome.version });
        else view.remove(key);
      } else if (outcome.result === 'rejected') {
        log.warn({ ...key, reason: outcome.message }, 'a computed row could not be written; retry in a minute');
        this.#compared = null;
      } else {
        // Another writer has changed the row: read it again and plan again.
        view.touch(key);
        this.#follower.add({ kind: 'keys', keys: [key] });
      }
    }
    log.debug({ writes: planned.length }, 'computed rows were updated');
  }
}

/** Adds the complete list of a type, and removes known rows that are not in it. */
export function putAll(view: RowsOfView, type: string, rows: readonly Resource[]): void {
  for (const row of rows) view.put(row);
  keepOnly(view, type, rows);
}

/** Removes the known rows of a type that are not in a complete list of it. */
function keepOnly(view: RowsOfView, type: string, listed: readonly ResourceKey[]): void {
  const present = new Set(listed.map(keyText));
  for (const key of [...view.keysOf(type)]) if (!present.has(keyText(key))) view.remove(key);
}

/**
 * A text that is equal for two rows of one key only if they are one row in one version: the version of a row that is made again
 * starts at 0.
 */
function stateOf({ version, modificationTime }: Pick<ResourceMeta, 'version' | 'modificationTime'>): string {
  return `${String(version)} ${String(modificationTime.getTime())}`;
}

function writeOf(planned: PlannedWrite): Write {
  if (planned.op === 'delete') {
    const { type, mesh, name, version } = planned.before;
    return { op: 'delete', key: { type, mesh, name }, expectVersion: version };
  }
  const { row, before } = planned;
  const { type, mesh, name, labels, spec, status, owner, syncVersion } = row;
  const content = { key: { type, mesh, name }, labels, spec, status, syncVersion };
  if (before === undefined) return { op: 'create', ...content, owner };
  return { op: 'update', ...content, expectVersion: before.version };
}
