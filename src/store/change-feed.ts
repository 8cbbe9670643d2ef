// NOTIFY as a stream of hints. One listening connection serves all readers; a slow reader gets the merged latest, never a
// growing queue; after every (re)connection all readers hear `all`, because the table is the truth.
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { Database } from './database.ts';
import type { StoreChange } from './resource-store.ts';

export const CHANNEL = 'meridian_resources';

/** Keys of one type that a slow reader may owe before it hears of the type alone. */
const MOST_KEYS = 10_000;
/** A net for what no notification told: a dropped message, a trigger that was disabled. */
const NET_MS = 300_000;

class Reader {
  #all = false;
  readonly #types = new Set<string>();
  readonly #keys = new Map<string, Map<string, ResourceKey>>();
  #wake: (() => void) | null = null;

  push(change: StoreChange): void {
    if (change.kind === 'all') this.#all = true;
    else if (change.kind === 'type') this.#types.add(change.type);
    else for (const key of change.keys) this.#pushKey(key);
    this.#wake?.();
  }

  /** The next merged change, or null when the signal aborts first. */
  async next(signal: AbortSignal): Promise<StoreChange | null> {
    while (!signal.aborted) {
      const change = this.#take();
      if (change !== null) return change;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      this.#wake = null;
    }
    return null;
  }

  #pushKey(key: ResourceKey): void {
    if (this.#types.has(key.type)) return;
    const keys = this.#keys.get(key.type) ?? new Map<string, ResourceKey>();
    keys.set(JSON.stringify([key.mesh, key.name]), key);
    if (keys.size <= MOST_KEYS) this.#keys.set(key.type, keys);
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
    if (this.#keys.size === 0) return null;
    const keys = [...this.#keys.values()].flatMap((byName) => [...byName.values()]);
    this.#keys.clear();
    return { kind: 'keys', keys };
  }
}

export class ChangeFeed {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #readers = new Set<Reader>();
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;
  #isListening = false;

  constructor(database: Database, log: Logger) {
    this.#database = database;
    this.#log = log;
  }

  async *changes(signal: AbortSignal): AsyncGenerator<StoreChange> {
    const reader = new Reader();
    this.#readers.add(reader);
    this.#running ??= this.#run();
    if (this.#isListening) reader.push({ kind: 'all' });
    const either = AbortSignal.any([signal, this.#stop.signal]);
    const net = setInterval(() => reader.push({ kind: 'all' }), NET_MS).unref();
    try {
      for (let change = await reader.next(either); change !== null; change = await reader.next(either)) yield change;
    } finally {
      clearInterval(net);
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
      if (!signal.aborted) await delay(wait * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
    }
  }

  #publish(change: StoreChange): void {
    for (const reader of this.#readers) reader.push(change);
  }
}

/** What a notification says; anything that is not ours means: read it all again. */
function parsePayload(payload: string): StoreChange {
  try {
    const { type, keys } = JSON.parse(payload) as { type?: string; keys?: [string, string][] };
    if (type === undefined) return { kind: 'all' };
    if (keys === undefined) return { kind: 'type', type };
    return { kind: 'keys', keys: keys.map(([mesh, name]) => ({ type, mesh, name })) };
  } catch {
    return { kind: 'all' };
  }
}
