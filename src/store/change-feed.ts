// NOTIFY as a stream of hints. One listening connection serves all readers; a slow reader gets merged hints, never a growing queue.
// After every (re)connection all readers receive `all`, because the table is the truth.
import { sql } from 'kysely';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { nameText, type ResourceKey } from '../resource/types.ts';
import type { Database } from './database.ts';
import type { StoreChange } from './resource-store.ts';

export const CHANNEL = 'meridian_resources';

/** Pending keys of one type after which a slow reader receives the type instead of the keys. */
const MAX_KEYS = 10_000;
/** A safety net for changes without a notification: a dropped message, a disabled trigger. */
const NET_MS = 300_000;
/** Pending marks after which a slow reader receives `all` instead. */
const MAX_MARKS = 1_000;

class Reader {
  #all = false;
  readonly #types = new Set<string>();
  readonly #keys = new Map<string, Map<string, ResourceKey>>();
  #marks: string[] = [];
  #wake: (() => void) | null = null;

  push(change: StoreChange): void {
    if (change.kind === 'all') this.#all = true;
    else if (change.kind === 'type') this.#types.add(change.type);
    else if (change.kind === 'mark') this.#pushMark(change.id);
    else for (const key of change.keys) this.#pushKey(key);
    this.#wake?.();
  }

  /** The next merged change, or null when the signal aborts first. */
  async next(signal: AbortSignal): Promise<StoreChange | null> {
    while (!signal.aborted) {
      const change = this.#take();
      if (change !== null) return change;
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = null;
    }
    return null;
  }

  /** Lets `next` look again, at the signal for one. */
  wake(): void {
    this.#wake?.();
  }

  #pushMark(id: string): void {
    this.#marks.push(id);
    if (this.#marks.length <= MAX_MARKS) return;
    this.#marks = [];
    this.#all = true;
  }

  #pushKey(key: ResourceKey): void {
    if (this.#types.has(key.type)) return;
    const keys = this.#keys.get(key.type) ?? new Map<string, ResourceKey>();
    keys.set(nameText(key), key);
    if (keys.size <= MAX_KEYS) this.#keys.set(key.type, keys);
    else {
      this.#keys.delete(key.type);
      this.#types.add(key.type);
    }
  }

  #take(): StoreChange | null {
    if (this.#all) {
      this.#all = false;
      this.#types.clear();
      this.#keys.clear();
      return { kind: 'all' };
    }
    for (const type of this.#types) {
      this.#types.delete(type);
      this.#keys.delete(type);
      return { kind: 'type', type };
    }
    if (this.#keys.size > 0) return this.#takeKeys();
    const mark = this.#marks.shift();
    return mark === undefined ? null : { kind: 'mark', id: mark };
  }

  #takeKeys(): StoreChange {
    const keys = [...this.#keys.values()].flatMap((byName) => [...byName.values()]);
    this.#keys.clear();
    return { kind: 'keys', keys };
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

  /** @param netMs milliseconds from one look at all rows to the next */
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
        if (before === null) this.#publish({ kind: 'all' });
        else for (const type of differing(before, now)) this.#publish({ kind: 'type', type });
        before = now;
      } catch (error) {
        this.#log.debug({ reason: messageOf(error) }, 'the rows could not be compared with the last look');
      }
    }
  }

  #publish(change: StoreChange): void {
    for (const reader of this.#readers) reader.push(change);
  }
}

/** Type → a digest over the keys of its rows and the transactions that wrote them: psql raises no version, but it has an xmin. */
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
    const { type, keys, mark } = JSON.parse(payload) as { type?: string; keys?: [string, string][]; mark?: string };
    if (mark !== undefined) return { kind: 'mark', id: mark };
    if (type === undefined) return { kind: 'all' };
    if (keys === undefined) return { kind: 'type', type };
    return { kind: 'keys', keys: keys.map(([mesh, name]) => ({ type, mesh, name })) };
  } catch {
    return { kind: 'all' };
  }
}
