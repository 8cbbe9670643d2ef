// Follows the change feed for one part of the process. The table is the truth, and a hint names only what to read again. Invariants:
// hints that arrive while the last ones are applied are merged, in bounded memory. After an error, and after a loss of the feed,
// everything is read again. A barrier opens only when every change that was committed before it has been applied.
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { aborted, together } from '../base/supervise.ts';
import type { ResourceKey } from '../resource/types.ts';
import { FeedBarrier } from './feed-barrier.ts';
import type { ResourceStore, StoreChange } from './resource-store.ts';

/** The number of keys of one type after which the hint names the type instead. */
const MAX_KEYS = 10_000;
/** The number of pending marks after which everything is read again instead. */
const MAX_MARKS = 1_000;
/** The milliseconds that `caughtUp` may take where the follower sets no other limit. */
const MAX_LAG_MS = 10_000;
/** The milliseconds from an error to the next attempt: the minimum, and a random part. */
const MIN_PAUSE_MS = 200;
const PAUSE_SPREAD_MS = 800;
/** The reason of an abort that wakes a follower. Without a reason each abort makes an exception with a stack. */
const NEWS = 'news';

/** The rows that may have changed since the last hints. */
export type Hints = {
  /** Everything may have changed: `types` names all followed types. It is true at first, and after the feed was lost. */
  readonly all: boolean;
  /** Types whose rows may all have changed. */
  readonly types: readonly string[];
  /** Rows of the other types. */
  readonly keys: readonly ResourceKey[];
  /** Followed marks since the feed named everything, in their order. */
  readonly marks: readonly string[];
};

/** Merges hints until they are taken. Ignores types that are not followed. */
class MergedHints {
  readonly #followed: ReadonlySet<string>;
  #all = false;
  readonly #types = new Set<string>();
  readonly #keys = new Map<string, Map<string, ResourceKey>>();

  constructor(followed: Iterable<string>) {
    this.#followed = new Set(followed);
  }

  get isEmpty(): boolean {
    return !this.#all && this.#types.size === 0 && this.#keys.size === 0;
  }

  addAll(): void {
    this.#all = true;
  }

  addType(type: string): void {
    if (!this.#followed.has(type)) return;
    this.#types.add(type);
    this.#keys.delete(type);
  }

  addKey(key: ResourceKey): void {
    if (!this.#followed.has(key.type) || this.#types.has(key.type)) return;
    const keys = this.#keys.get(key.type) ?? new Map<string, ResourceKey>();
    this.#keys.set(key.type, keys.set(JSON.stringify([key.mesh, key.name]), key));
    if (keys.size > MAX_KEYS) this.addType(key.type);
  }

  take(): Omit<Hints, 'marks'> {
    const all = this.#all;
    const types = [...(all ? this.#followed : this.#types)];
    const keys = all ? [] : [...this.#keys.values()].flatMap((byName) => [...byName.values()]);
    this.#all = false;
    this.#types.clear();
    this.#keys.clear();
    return { all, types, keys };
  }
}

/** The clock and the logger of every follower. */
export type Following = { readonly clock: Clock; readonly log: Logger };

type FeedFollowerOptions = Following & {
  readonly store: Pick<ResourceStore, 'changes' | 'mark'>;
  readonly types: Iterable<string>;
  /** Whether a mark is followed, besides those of `caughtUp`. The default is none. */
  readonly isMark?: (id: string) => boolean;
  /**
   * The milliseconds from the first hint to the end of `next`, so that a burst is one call. A mark ends this time. The default is
   * 0.
   */
  readonly gatherMs?: number;
  /** The milliseconds that `caughtUp` may take. */
  readonly maxLagMs?: number;
};

export class FeedFollower {
  readonly #options: FeedFollowerOptions;
  readonly #hints: MergedHints;
  readonly #barrier: FeedBarrier;
  /** Marks that came through the feed after the last hints. */
  #marks: string[] = [];
  #isCurrent = false;
  /** Aborts when the feed loses its connection, or the run fails. */
  #connection = new AbortController();
  /** Opens the barriers that wait for the last hints. */
  #release = (): void => undefined;
  #wake = (): void => undefined;

  constructor(options: FeedFollowerOptions) {
    this.#options = options;
    this.#hints = new MergedHints(options.types);
    const { store, clock, log, maxLagMs: limitMs = MAX_LAG_MS } = options;
    this.#barrier = new FeedBarrier({ mark: (id) => store.mark(id), clock, log, limitMs });
  }

  /**
   * Settles when everything that is committed now has been applied.
   * @throws MeridianError `unavailable` when the store or its feed does not answer in time
   */
  async caughtUp(): Promise<void> {
    await this.#barrier.wait();
  }

  /**
   * It is true while every reported change is applied or queued. It is false from an error of the run, or the loss of the feed,
   * until everything has been read again, because unreported changes may exist.
   */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /**
   * Applies hints until the signal aborts, one call of `apply` at a time. The first hints name everything, as do those after an
   * error of the store, of its feed or of `apply`. The abort also ends every `caughtUp`, now and later. Call it once.
   */
  async run(apply: (hints: Hints) => void | Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    void aborted(signal).then(() => this.#barrier.end());
    while (!signal.aborted) {
      try {
        await together(
          signal,
          (either) => this.follow(either),
          async (either) => {
            for (let hints = await this.next(either); hints !== null; hints = await this.next(either)) await apply(hints);
          },
        );
      } catch (error) {
        if (!signal.aborted) log.warn({ err: messageOf(error) }, 'cannot read the store; trying again');
      }
      this.#discard();
      await clock.sleep(MIN_PAUSE_MS + Math.random() * PAUSE_SPREAD_MS, signal);
    }
  }

  /** Collects hints for `next` until the signal aborts. Throws when the feed fails. */
  async follow(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wake());
    const { store, types } = this.#options;
    for await (const change of store.changes(signal, types)) this.add(change);
  }

  /** Adds a hint, as the feed does. */
  add(change: StoreChange): void {
    if (change.kind === 'mark') this.#addMark(change.id);
    else if (change.kind === 'lost') this.#disconnect();
    else if (change.kind === 'all') this.#reconnect();
    else if (change.kind === 'type') this.#hints.addType(change.type);
    else for (const key of change.keys) this.#hints.addKey(key);
    if (this.#hasNews()) this.#wake();
  }

  /**
   * The hints since the last call, as soon as there are any; the caller has applied the last ones.
   * @param withinMs milliseconds to wait for hints
   * @returns null when none came in time, or when the signal has aborted
   */
  async next(signal: AbortSignal, withinMs = Infinity): Promise<Hints | null> {
    const { isMark, gatherMs = 0 } = this.#options;
    this.#release();
    for (;;) {
      if (!this.#hasNews() && !signal.aborted) await this.#arrival(withinMs);
      if (gatherMs > 0 && this.#hasNews()) await this.#gather(gatherMs, signal);
      if (signal.aborted || !this.#hasNews()) return null;
      const marks = this.#marks.filter((id) => isMark?.(id));
      const hints = { ...this.#hints.take(), marks };
      this.#release = this.#barrierAfter(hints);
      if (hints.all || hints.types.length > 0 || hints.keys.length > 0 || marks.length > 0) return hints;
      this.#release();
    }
  }

  /** Resolves when a hint arrives or the signal aborts, and after the time. */
  async #arrival(withinMs: number): Promise<void> {
    // Most waits have no limit, and need no AbortController.
    if (withinMs === Infinity) return await new Promise((resolve) => (this.#wake = resolve));
    const arrived = new AbortController();
    this.#wake = () => arrived.abort(NEWS);
    await this.#options.clock.sleep(withinMs, arrived.signal);
  }

  /** Waits for more hints. It ends with a mark, because somebody waits for that. */
  async #gather(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#marks.length > 0) return;
    const marked = new AbortController();
    this.#wake = () => {
      if (this.#marks.length > 0) marked.abort(NEWS);
    };
    await this.#options.clock.sleep(ms, AbortSignal.any([signal, marked.signal]));
  }

  #hasNews(): boolean {
    return this.#marks.length > 0 || !this.#hints.isEmpty;
  }

  #addMark(id: string): void {
    if (!this.#barrier.isOwn(id) && this.#options.isMark?.(id) !== true) return;
    if (this.#marks.length < MAX_MARKS) this.#marks.push(id);
    else this.#addAll();
  }

  #addAll(): void {
    this.#hints.addAll();
    this.#marks = [];
  }

  #reconnect(): void {
    if (this.#connection.signal.aborted) this.#connection = new AbortController();
    this.#addAll();
  }

  /** Hints that came before stay good. */
  #disconnect(): void {
    this.#connection.abort();
    this.#isCurrent = false;
  }

  /** Drops the hints of a failed run. The feed names everything first when it is followed again. */
  #discard(): void {
    this.#hints.take();
    this.#marks = [];
    this.#disconnect();
    this.#release = () => undefined;
  }

  /** The barrier of these hints. A full read sees every commit before the current waits, so it releases them: their marks may be lost. */
  #barrierAfter({ all }: Hints): () => void {
    const marks = this.#marks;
    this.#marks = [];
    const { signal } = this.#connection;
    const release = all ? this.#barrier.lost() : (): void => marks.forEach((id) => this.#barrier.pass(id));
    return () => {
      // Hints that name everything count for the connection that they came from.
      if (all && !signal.aborted) this.#isCurrent = true;
      release();
    };
  }
}
