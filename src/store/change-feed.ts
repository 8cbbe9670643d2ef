// NOTIFY as a stream of hints. One listening connection serves all readers, and the queue of each is bounded.
// When the connection is lost all readers receive `lost`, and after every (re)connection `all`, because the table is the truth.
import { sql } from 'kysely';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { Database } from './database.ts';
import type { StoreChange } from './resource-store.ts';

export const CHANNEL = 'meridian_resources';

/** Pending changes after which a reader receives `all` instead. FeedFollower merges what it receives, so its queue stays short. */
const MAX_PENDING = 10_000;
/** A safety net for changes without a notification: a dropped message, a disabled trigger. */
const NET_MS = 300_000;

class Reader {
  #pending: StoreChange[] = [];
  #wake: (() => void) | null = null;

  push(change: StoreChange): void {
    if (change.kind === 'all') this.#pending = [change];
    else if (change.kind === 'lost' || this.#pending.length < MAX_PENDING) this.#pending.push(change);
    // A pending loss stays the last word on the connection.
    else this.#pending = [{ kind: 'all' }, ...this.#pending.filter(({ kind }) => kind === 'lost')];
    this.#wake?.();
  }

  /** The next change, or null when the signal aborts first. */
  async next(signal: AbortSignal): Promise<StoreChange | null> {
    while (!signal.aborted) {
      const change = this.#pending.shift();
      if (change !== undefined) return change;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = null;
    }
    return null;
  }

  /** Lets `next` check its signal. */
  wake(): void {
    this.#wake?.();
  }
}

export class ChangeFeed {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #netMs: number;
  readonly #readers = new Set<Reader>();
  readonly #stop = new AbortController();
  #running: Promise<unknown> | null = null;
  #isListening = false;

  /** @param netMs milliseconds between two checks of all rows */
  constructor(database: Database, log: Logger, netMs = NET_MS) {
    this.#database = database;
    this.#log = log;
    this.#netMs = netMs;
  }

  async *changes(signal: AbortSignal): AsyncGenerator<StoreChange> {
    const reader = new Reader();
    this.#readers.add(reader);
    this.#running ??= Promise.all([this.#run(), this.#watch()]);
    if (this.#isListening) reader.push({ kind: 'all' });
    const either = AbortSignal.any([signal, this.#stop.signal]);
    either.addEventListener('abort', () => reader.wake(), { once: true });
    try {
      for (let change = await reader.next(either); change !== null; change = await reader.next(either)) yield change;
    } finally {
      this.#readers.delete(reader);
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    for (let wait = 100; !signal.aborted; wait = Math.min(wait * 2, 2_000)) {
      try {
        await this.#database.listen(
          CHANNEL,
          () => {
            wait = 50;
            this.#isListening = true;
            this.#publish({ kind: 'all' });
          },
          (payload) => this.#publish(parsePayload(payload)),
          signal,
        );
      } catch (error) {
        this.#log.warn({ reason: messageOf(error) }, 'the change feed lost its connection; connecting again');
      }
      if (this.#isListening) this.#publish({ kind: 'lost' });
      this.#isListening = false;
      if (!signal.aborted) await this.#database.clock.sleep(wait * (0.5 + Math.random()), signal);
    }
  }

  /** The safety net: at intervals, readers receive the types whose rows differ from the last check (engine 9). */
  async #watch(): Promise<void> {
    const { signal } = this.#stop;
    let before: ReadonlyMap<string, string> | null = null;
    while (!signal.aborted) {
      await this.#database.clock.sleep(this.#netMs, signal, { ref: false });
      if (signal.aborted) return;
      try {
        const now = await digests(this.#database);
        if (before === null) this.#publishAll();
        else for (const type of differing(before, now)) this.#publish({ kind: 'type', type });
        before = now;
      } catch (error) {
        this.#log.debug({ reason: messageOf(error) }, 'the rows could not be compared with the last check');
      }
    }
  }

  /** Says that all rows may have changed, without a new connection. */
  #publishAll(): void {
    this.#publish({ kind: 'all' });
    if (!this.#isListening) this.#publish({ kind: 'lost' });
  }

  #publish(change: StoreChange): void {
    for (const reader of this.#readers) reader.push(change);
  }
}

/**
 * Type → a digest over the keys of its rows and the transactions that wrote them. A write by psql raises no version, but it changes
 * xmin.
 */
async function digests({ db }: Database): Promise<Map<string, string>> {
  const { rows } = await sql<{ type: string; digest: string }>`
    select type, count(*) || ':' || sum(hashtextextended(mesh || '/' || name || '@' || xmin::text, 0)) as digest
    from resources group by type`.execute(db);
  return new Map(rows.map(({ type, digest }) => [type, digest]));
}

function differing(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...now.keys()])].filter((type) => before.get(type) !== now.get(type));
}

/** Parses a notification. An unknown payload means `all`. */
function parsePayload(payload: string): StoreChange {
  try {
    const { type, keys, mark } = JSON.parse(payload) as { type?: unknown; keys?: [unknown, unknown][]; mark?: unknown };
    if (typeof mark === 'string') return { kind: 'mark', id: mark };
    if (typeof type !== 'string') return { kind: 'all' };
    if (keys === undefined) return { kind: 'type', type };
    const keyOf = ([mesh, name]: [unknown, unknown]): ResourceKey | null =>
      typeof mesh === 'string' && typeof name === 'string' ? { type, mesh, name } : null;
    const read = keys.map(keyOf);
    return read.includes(null) ? { kind: 'all' } : { kind: 'keys', keys: read as ResourceKey[] };
  } catch {
    return { kind: 'all' };
  }
}
