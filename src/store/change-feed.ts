// NOTIFY as a stream of hints. One listening connection serves all readers, and the queue of each is bounded.
// When the connection is lost all readers receive `lost`, and after every (re)connection `all`, because the table is the truth.
// The connection listens to the channel of insights only while a reader needs it.
import { sql } from 'kysely';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { aborted, unlessAborted } from '../base/supervise.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { Database, OtherChannels } from './database.ts';
import type { StoreChange } from './resource-store.ts';

export const CHANNEL = 'meridian_resources';
/** The limit of the text of a notification, in bytes. */
const MAX_PAYLOAD_BYTES = 7_999;

/**
 * The text of the notification of a mark.
 * @throws MeridianError `invalid` if it is too long: a statement has the marks of many callers, and would fail with it
 */
export function markPayload(mark: string): string {
  const payload = JSON.stringify({ mark });
  if (Buffer.byteLength(payload) <= MAX_PAYLOAD_BYTES) return payload;
  throw new MeridianError('invalid', `a mark has ${String(Buffer.byteLength(payload))} bytes, which do not fit a notification`);
}
/** The channel of every ZoneInsight, and of each DataplaneInsight that came by KDS (migrations/0008_insight_channel.sql). */
const INSIGHT_CHANNEL = 'meridian_insights';
const INSIGHTS: ReadonlySet<string> = new Set(['ZoneInsight', 'DataplaneInsight']);

/**
 * The number of pending changes after which a reader receives `all` instead. FeedFollower merges what it receives, so its queue
 * stays short.
 */
const MAX_PENDING = 10_000;
/** The interval of a safety net for changes without a notification, in milliseconds: a dropped message, a disabled trigger. */
const NET_MS = 300_000;

class Reader {
  readonly needsInsights: boolean;
  /** The types of the reader; null for every type. */
  readonly #types: ReadonlySet<string> | null;
  #pending: StoreChange[] = [];
  #wake: (() => void) | null = null;

  /** @param types the types that it follows; without them every type but insights */
  constructor(types: Iterable<string> | undefined) {
    this.#types = types === undefined ? null : new Set(types);
    this.needsInsights = readsInsights(this.#types ?? []);
  }

  /** Whether a change may concern a type that it follows. A reader that is not woken costs nothing. */
  follows(change: StoreChange): boolean {
    const types = this.#types;
    if (types === null) return true;
    if (change.kind === 'keys') return change.keys.some(({ type }) => types.has(type));
    return change.kind !== 'type' || types.has(change.type);
  }

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

/**
 * @property end ends the connection, so that the next one begins
 * @property hasInsights whether it listens to the channel of insights
 * @property settling settles when it listens as the readers need it; null while it does
 */
type Connection = {
  readonly channels: OtherChannels;
  readonly end: AbortController;
  readonly hear: (change: StoreChange, isOfInsights: boolean) => void;
  hasInsights: boolean;
  settling: Promise<void> | null;
};

export class ChangeFeed {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #netMs: number;
  readonly #readers = new Set<Reader>();
  readonly #stop = new AbortController();
  #running: Promise<unknown> | null = null;
  #isListening = false;
  #connection: Connection | null = null;
  /** The number of readers that need insights. */
  #insightReaders = 0;

  /** @param netMs milliseconds between two checks of all rows */
  constructor(database: Database, log: Logger, netMs = NET_MS) {
    this.#database = database;
    this.#log = log;
    this.#netMs = netMs;
  }

  /** @param types the types that the reader follows; without them every type but insights */
  async *changes(signal: AbortSignal, types?: Iterable<string>): AsyncGenerator<StoreChange> {
    const reader = new Reader(types);
    const { needsInsights } = reader;
    if (needsInsights) this.#insightReaders += 1;
    this.#running ??= Promise.all([this.#run(), this.#watch()]);
    const either = AbortSignal.any([signal, this.#stop.signal]);
    either.addEventListener('abort', () => reader.wake());
    try {
      if (needsInsights) await Promise.race([this.#settleInsights(), aborted(either)]);
      // There is no await from here on: `all` comes first, and nothing is missed after it.
      this.#readers.add(reader);
      if (this.#isListening) reader.push({ kind: 'all' });
      for (let change = await reader.next(either); change !== null; change = await reader.next(either)) yield change;
    } finally {
      this.#readers.delete(reader);
      if (needsInsights) this.#insightReaders -= 1;
      if (needsInsights) void this.#settleInsights();
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    for (let wait = 100; !signal.aborted; wait = Math.min(wait * 2, 2_000)) {
      const connection = new AbortController();
      // The changes before the first `all` are in it.
      let hasBegun = false;
      const hear: Connection['hear'] = (change, isOfInsights) => hasBegun && this.#publish(change, isOfInsights);
      try {
        await this.#database.listen(
          CHANNEL,
          async (channels) => {
            this.#connection = { channels, end: connection, hear, hasInsights: false, settling: null };
            await this.#settleInsights();
            if (connection.signal.aborted) return;
            wait = 50;
            hasBegun = true;
            this.#isListening = true;
            this.#publish({ kind: 'all' });
          },
          (payload) => hear(parsePayload(payload), false),
          AbortSignal.any([signal, connection.signal]),
        );
      } catch (error) {
        this.#log.warn({ reason: messageOf(error) }, 'the change feed lost its connection; connecting again');
      }
      connection.abort();
      if (this.#isListening) this.#publish({ kind: 'lost' });
      this.#isListening = false;
      if (!signal.aborted) await this.#database.clock.sleep(wait * (0.5 + Math.random()), signal);
    }
  }

  /**
   * Resolves when the connection listens to insights as long as a reader needs them, and without a connection: the next one does. Never
   * rejects.
   */
  async #settleInsights(): Promise<void> {
    const connection = this.#connection;
    if (connection === null || connection.end.signal.aborted) return;
    if (connection.settling === null && connection.hasInsights === this.#insightReaders > 0) return;
    connection.settling ??= this.#settle(connection);
    await unlessAborted(connection.end.signal, connection.settling).catch(() => undefined);
  }

  /** Runs one statement at a time: readers that come and go meanwhile count after it. Ends a connection that fails. */
  async #settle(connection: Connection): Promise<void> {
    const { channels, end, hear } = connection;
    try {
      while (!end.signal.aborted && connection.hasInsights !== this.#insightReaders > 0) {
        if (connection.hasInsights) await channels.remove(INSIGHT_CHANNEL);
        else await channels.add(INSIGHT_CHANNEL, (payload) => hear(parsePayload(payload), true));
        connection.hasInsights = !connection.hasInsights;
      }
    } catch (error) {
      this.#log.debug({ reason: messageOf(error) }, 'the connection of the change feed does not answer; connecting again');
      end.abort();
    }
    connection.settling = null;
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

  #publish(change: StoreChange, isOfInsights = false): void {
    for (const reader of this.#readers)
      if ((!isOfInsights || reader.needsInsights) && reader.follows(change)) reader.push(change);
  }
}

/**
 * The digests of each type over the keys of its rows and the transactions that wrote them. A write by psql raises no version, but
 * it changes xmin.
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

/** Whether a reader of these types needs the channel of insights. */
function readsInsights(types: Iterable<string>): boolean {
  return [...types].some((type) => INSIGHTS.has(type));
}
