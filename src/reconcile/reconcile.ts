// Derives rows of a zone from other rows; leader only. Event-driven: rows that the feed names are read again, and a plan covers only
// the rows that depend on them. Invariants: the table is the truth, so it can stop and start at any time; a write requires the
// version that was read; equal rows are not written.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { together } from '../base/supervise.ts';
import { keyText, type Resource, type ResourceKey } from '../resource/types.ts';
import { FeedFollower, type Hints } from '../store/follow-feed.ts';
import type { ResourceStore, Write } from '../store/resource-store.ts';

/** Hints that arrive within this time are handled in one pass, in milliseconds. */
const GATHER_MS = 5;
/** The interval of the safety pass in milliseconds. It reads and plans all rows, for changes without a hint. */
const SAFETY_MS = 60_000;

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

export type Reconciler = {
  /** The types of the view's rows, in the order with the cheapest first read. */
  readonly types: readonly string[];
  readonly view: ReconciledView;
  /** Plans the marked rows and clears the marks. `wakeAt`: when to plan again without a change, in milliseconds since 1970. */
  readonly plan: (now: Date) => { readonly writes: readonly PlannedWrite[]; readonly wakeAt: number | null };
};

export type ReconcileOptions = {
  readonly store: ResourceStore;
  readonly log: Logger;
  readonly clock: Clock;
  /** The interval at which everything is read and planned again, in milliseconds; a minute if left out. */
  readonly safetyMs?: number;
  /** Called after every pass, for measurements. */
  readonly onPass?: (pass: Pass) => void;
};

/** A finished pass: its writes are committed. */
export type Pass = {
  /** Whether everything was read again. */
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

  constructor(reconciler: Reconciler, options: ReconcileOptions) {
    this.#reconciler = reconciler;
    this.#options = options;
    this.#follower = new FeedFollower({ ...options, types: reconciler.types, gatherMs: GATHER_MS });
  }

  async follow(signal: AbortSignal): Promise<void> {
    await this.#follower.follow(signal);
  }

  async work(signal: AbortSignal): Promise<void> {
    const { clock, safetyMs = SAFETY_MS } = this.#options;
    let safetyAt = clock.now().getTime() + safetyMs;
    let wakeAt: number | null = null;
    while (!signal.aborted) {
      const wait = Math.min(safetyAt, wakeAt ?? Infinity) - clock.now().getTime();
      const hints = await this.#follower.next(signal, Math.max(wait, 0));
      if (signal.aborted) return;
      const isSafety = clock.now().getTime() >= safetyAt;
      if (isSafety) {
        safetyAt = clock.now().getTime() + safetyMs;
        this.#reconciler.view.touchAll();
      }
      wakeAt = await this.#pass(isSafety ? { types: this.#reconciler.types, keys: [] } : (hints ?? { types: [], keys: [] }));
    }
  }

  /** One pass: reads the rows that the hints name, plans, writes. @returns when to run again without a hint */
  async #pass(hints: Pick<Hints, 'types' | 'keys'>): Promise<number | null> {
    const began = this.#options.clock.elapsed();
    const { types, plan } = this.#reconciler;
    await this.#read(hints);
    const { writes, wakeAt } = plan(this.#options.clock.now());
    await this.#write(writes);
    const isFull = hints.types.length === types.length;
    this.#options.onPass?.({ isFull, writes: writes.length, durationMs: this.#options.clock.elapsed() - began });
    return wakeAt;
  }

  async #read({ types, keys }: Pick<Hints, 'types' | 'keys'>): Promise<void> {
    const { store } = this.#options;
    const { view } = this.#reconciler;
    for (const type of types) putAll(view, type, await store.list({ type }));
    const rows = new Map((await store.getMany(keys)).map((row) => [keyText(row), row]));
    for (const key of keys) {
      const row = rows.get(keyText(key));
      if (row === undefined) view.remove(key);
      else view.put(row);
    }
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
        if (write.op === 'put') view.accept({ ...write.row, version: outcome.version });
        else view.remove(key);
      } else if (outcome.result === 'rejected') {
        log.warn({ ...key, reason: outcome.message }, 'a computed row could not be written; retry in a minute');
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
export function putAll(view: ReconciledView, type: string, rows: readonly Resource[]): void {
  const present = new Set(rows.map(keyText));
  for (const row of rows) view.put(row);
  for (const key of [...view.keysOf(type)]) if (!present.has(keyText(key))) view.remove(key);
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
