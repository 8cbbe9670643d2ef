// Combines single writes: writes that arrive during a transaction wait and share the next one, in one statement with a result for
// each. NOTIFY serialises commits, so a transaction per write would limit the rate.
// A document with a long list has a transaction of its own: others do not wait until the database has compressed it.
// Invariants: writes to one key are committed in the order of their arrival; a write that has waited too long does not begin any more.
import { MeridianError, type ErrorCode } from '../base/errors.ts';
import { KeyedMutex } from '../base/keyed-mutex.ts';
import { hasLongList } from '../base/long-lists.ts';
import { keyText } from '../resource/types.ts';
import type { Write, WriteOutcome } from './resource-store.ts';

const MAX_AT_ONCE = 1_000;
/** The number of transactions that may wait for locked rows at a time. Each holds a connection. */
const LANES = 4;
/** The milliseconds for which a recently locked row is written in its own lane. */
const SUSPECT_MS = 60_000;

type Waiting = {
  readonly write: Write;
  readonly key: string;
  /** The time by the clock of the options. */
  readonly since: number;
  readonly resolve: (outcome: WriteOutcome) => void;
  readonly reject: (error: unknown) => void;
};

/** A key with its own lane: another transaction locks its row, or did so recently, or its document is large. */
type Aside = { readonly lane: string; waiting: number; until: number };

type CombinedWriterOptions = {
  /** Stores all in one transaction. @throws MeridianError `conflict` where another transaction holds a row, `unavailable` */
  readonly run: (writes: readonly Write[]) => Promise<WriteOutcome[]>;
  /** The writes that would wait for another transaction. */
  readonly heldAmong: (writes: readonly Write[]) => Promise<ReadonlySet<Write>>;
  /** The milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /**
   * The longest wait of a write in milliseconds. A write that has waited longer is refused: its caller may have given up and written again,
   * and this write would replace the newer one.
   */
  readonly maxWaitMs: number;
};

export class GroupCommitWriter {
  readonly #options: CombinedWriterOptions;
  readonly #lanes = new KeyedMutex();
  readonly #aside = new Map<string, Aside>();
  #queue: Waiting[] = [];
  #working = false;
  #inWork = new Set<string>();
  #lane = 0;

  constructor(options: CombinedWriterOptions) {
    this.#options = options;
  }

  /** The number of keys with their own lane. Keys that were locked long ago are removed when another key is locked. */
  get keysAside(): number {
    return this.#aside.size;
  }

  /** Resolves when the write is committed or has failed. */
  async write(write: Write): Promise<WriteOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<WriteOutcome>();
    const waiting = { write, key: keyText(write.key), since: this.#options.now(), resolve, reject };
    if (this.#isAside(waiting.key) || (isLarge(write) && !this.#isPending(waiting.key))) this.#goAside(waiting.key, [waiting]);
    else {
      this.#queue.push(waiting);
      if (!this.#working) void this.#work();
    }
    return await promise;
  }

  async #work(): Promise<void> {
    this.#working = true;
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      this.#inWork = new Set(batch.map(({ key }) => key));
      await this.#commit(batch);
      this.#inWork.clear();
    }
    this.#working = false;
  }

  /** Whether a write to the key waits or is committed now: the next one comes behind it. */
  #isPending(key: string): boolean {
    return this.#inWork.has(key) || this.#queue.some((waiting) => waiting.key === key);
  }

  /**
   * Takes the waiting writes, the oldest first. Of several writes to one key it takes only the first: each must see the result of
   * the one before it.
   */
  #takeBatch(): Waiting[] {
    const keys = new Set<string>();
    const batch: Waiting[] = [];
    const rest: Waiting[] = [];
    for (const waiting of this.#queue) {
      if (batch.length < MAX_AT_ONCE && !keys.has(waiting.key)) batch.push(waiting);
      else rest.push(waiting);
      keys.add(waiting.key);
    }
    this.#queue = rest;
    return batch;
  }

  async #commit(waiting: readonly Waiting[]): Promise<void> {
    const batch = this.#withoutLate(waiting);
    if (batch.length === 0) return;
    try {
      const outcomes = await this.#options.run(batch.map(({ write }) => write));
      for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index] ?? { result: 'missing' });
    } catch (error) {
      // Nothing of the batch was stored. Retry each write alone, so that only the faulty one fails. An unavailable database fails
      // them all.
      const [first] = batch;
      if (first !== undefined && batch.length === 1 && isCode(error, 'conflict')) this.#suspect(first.key);
      if (batch.length === 1 || isCode(error, 'unavailable')) for (const { reject } of batch) reject(error);
      else if (isCode(error, 'conflict')) await this.#commitFree(batch);
      else await this.#commitEach(batch);
    }
  }

  /** Rejects those that have waited too long. */
  #withoutLate(waiting: readonly Waiting[]): readonly Waiting[] {
    const { now, maxWaitMs } = this.#options;
    const earliest = now() - maxWaitMs;
    const isLate = ({ since }: Waiting): boolean => since < earliest;
    if (!waiting.some(isLate)) return waiting;
    const error = new MeridianError(
      'unavailable',
      `the write waited longer than ${String(maxWaitMs / 1_000)} s; nothing was changed`,
    );
    for (const { reject } of waiting.filter(isLate)) reject(error);
    return waiting.filter((one) => !isLate(one));
  }

  async #commitEach(batch: readonly Waiting[]): Promise<void> {
    for (const waiting of batch) await this.#commit([waiting]);
  }

  /** Commits a batch of which another transaction holds rows. Writes to locked rows wait in their own lane; the rest commit. */
  async #commitFree(batch: readonly Waiting[]): Promise<void> {
    const held = await this.#options.heldAmong(batch.map(({ write }) => write)).catch(() => new Set<Write>());
    const free = batch.filter(({ write }) => !held.has(write));
    for (const waiting of batch) if (held.has(waiting.write)) this.#goAside(waiting.key, [waiting]);
    if (free.length === batch.length) await this.#commitEach(batch);
    else if (free.length > 0) await this.#commit(free);
  }

  #isAside(key: string): boolean {
    const aside = this.#aside.get(key);
    return aside !== undefined && (aside.waiting > 0 || aside.until > this.#options.now());
  }

  #suspect(key: string): void {
    this.#asideOf(key).until = this.#options.now() + SUSPECT_MS;
    this.#goAside(key, []);
  }

  /** Gives a key a lane of its own. @param first the writes that precede all queued writes to the same key */
  #goAside(key: string, first: readonly Waiting[]): void {
    const aside = this.#asideOf(key);
    const queued = this.#queue.filter((waiting) => waiting.key === key);
    if (queued.length > 0) this.#queue = this.#queue.filter((waiting) => waiting.key !== key);
    for (const waiting of [...first, ...queued]) {
      aside.waiting += 1;
      const commit = this.#lanes.run(aside.lane, () => this.#commit([waiting]));
      void commit.finally(() => (aside.waiting -= 1));
    }
  }

  #asideOf(key: string): Aside {
    const known = this.#aside.get(key);
    if (known !== undefined) return known;
    for (const other of this.#aside.keys()) if (!this.#isAside(other)) this.#aside.delete(other);
    this.#lane = (this.#lane + 1) % LANES;
    const aside = { lane: String(this.#lane), waiting: 0, until: 0 };
    this.#aside.set(key, aside);
    return aside;
  }
}

function isLarge(write: Write): boolean {
  return 'spec' in write && hasLongList(write.spec);
}

function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof MeridianError && error.code === code;
}
