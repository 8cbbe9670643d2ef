// The events of this process for all streams: sources say which keys changed, the hub asks for their newest state, at its pace, and keeps
// the events for streams that resume. Invariants: without a stream nothing is followed and nothing is kept; a reader has a position and
// no queue; a stream begins with `resync`, or with the event after the one that it names.
import { randomUUID } from 'node:crypto';
import { CoalescedKeys } from '../base/coalesced-keys.ts';
import { aborted, supervise } from '../base/supervise.ts';
import type { Following } from '../store/follow-feed.ts';
import { EventRing, TOPICS, type EventItem, type RingEvent, type Topic } from './event-ring.ts';

/** Milliseconds for which events are kept after the last stream has ended, so that it can resume. */
export const LINGER_MS = 60_000;

/** Milliseconds from one event of a topic to the next: at most four a second. */
export const PACE_MS = 250;
/** The largest number of items in one event. */
export const MAX_ITEMS = 200;

/** The calls with which a source reports to the hub. */
export type Tell = {
  /** The state of a key changed. */
  readonly touch: (topic: Topic, key: string) => void;
  /** The source knows the present state, and reports each change after it. Call it once in each run. */
  readonly loaded: () => void;
};

export type EventSource = {
  readonly name: string;
  /** Follows the state until the signal aborts. */
  readonly run: (tell: Tell, signal: AbortSignal) => Promise<void>;
  /** The newest state of a key of these topics; null for no event. */
  readonly render: Partial<Record<Topic, (key: string) => EventItem | null>>;
};

/**
 * An event of a stream: news with their id, or `resync`: read the lists again; the changes after this id follow. `idle` has the
 * id of the last event that the stream got; null before it has begun.
 */
export type HubEvent =
  | { readonly kind: 'event'; readonly id: string; readonly event: RingEvent }
  | { readonly kind: 'resync'; readonly id: string; readonly reason: ResyncReason }
  | { readonly kind: 'idle'; readonly id: string | null };

/** `started`: the stream names no event. `expired`: events after the named one are no longer kept. `unknown`: it is of another process. */
type ResyncReason = 'started' | 'expired' | 'unknown';

type Session = {
  /** The prefix of the id of each event. Each start makes another one. */
  readonly epoch: string;
  readonly ring: EventRing;
  readonly loaded: Promise<void>;
  readonly stop: () => void;
};

export class EventHub {
  readonly #sources: readonly EventSource[];
  readonly #following: Following;
  #session: Session | null = null;
  #readers = 0;
  #cancelEnd = (): void => undefined;
  /** The readers without news. */
  readonly #waiting = new Set<() => void>();

  constructor(sources: readonly EventSource[], following: Following) {
    this.#sources = sources;
    this.#following = following;
  }

  /** It is true while the state is followed. */
  get isFollowing(): boolean {
    return this.#session !== null;
  }

  /** The id of the newest event; null while nothing is followed. */
  get newestId(): string | null {
    return this.#session === null ? null : idOf(this.#session, this.#session.ring.newest);
  }

  /** Stops following at once. All readers must have ended. */
  stop(): void {
    this.#cancelEnd();
    this.#session?.stop();
    this.#session = null;
  }

  /**
   * The events after the named one, then each new one, until the signal aborts.
   * @param lastId the id of the last event that the reader has; null for a new reader
   * @param idleMs milliseconds after which `idle` comes in the place of an event
   */
  async *follow(lastId: string | null, idleMs: number, signal: AbortSignal): AsyncGenerator<HubEvent> {
    const session = this.#enter();
    try {
      while (!(await this.#isLoaded(session, idleMs, signal))) yield { kind: 'idle', id: null };
      if (signal.aborted) return;
      let position = positionOf(lastId, session);
      if (typeof position !== 'number') {
        const reason = position;
        position = session.ring.newest;
        yield { kind: 'resync', id: idOf(session, position), reason };
      }
      while (!signal.aborted) {
        const events = session.ring.after(position);
        if (events === null) {
          position = session.ring.newest;
          yield { kind: 'resync', id: idOf(session, position), reason: 'expired' };
          continue;
        }
        for (const event of events) {
          position = event.sequence;
          yield { kind: 'event', id: idOf(session, position), event };
        }
        if (events.length > 0 || (await this.#wait(idleMs, signal))) continue;
        if (!signal.aborted) yield { kind: 'idle', id: idOf(session, position) };
      }
    } finally {
      this.#leave();
    }
  }

  /** Follows the state as a stream does, for a while, and settles when it is known, or after the time. */
  async load(limitMs: number, signal: AbortSignal): Promise<void> {
    const session = this.#enter();
    try {
      await this.#isLoaded(session, limitMs, signal);
    } finally {
      this.#leave();
    }
  }

  /** Returns true as soon as the sources know the present state; false after the time. */
  async #isLoaded({ loaded }: Session, idleMs: number, signal: AbortSignal): Promise<boolean> {
    const done = new AbortController();
    const limit = this.#following.clock.sleep(idleMs, AbortSignal.any([signal, done.signal])).then(() => signal.aborted);
    return await Promise.race([loaded.then(() => true), limit]).finally(() => done.abort());
  }

  /**
   * Returns true when there is news; false after the time. Each event wakes every reader, so a wait makes no signal and no error.
   */
  async #wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    return await new Promise((resolve) => {
      const end = (isNews: boolean): void => {
        this.#waiting.delete(hear);
        signal.removeEventListener('abort', leave);
        cancel();
        resolve(isNews);
      };
      const hear = (): void => end(true);
      const leave = (): void => end(false);
      const cancel = this.#following.clock.after(ms, leave);
      this.#waiting.add(hear);
      signal.addEventListener('abort', leave);
    });
  }

  #enter(): Session {
    this.#readers += 1;
    this.#cancelEnd();
    return (this.#session ??= this.#start());
  }

  #leave(): void {
    this.#readers -= 1;
    if (this.#readers === 0) this.#cancelEnd = this.#following.clock.after(LINGER_MS, () => this.stop());
  }

  #start(): Session {
    const ring = new EventRing();
    const stopped = new AbortController();
    const { signal } = stopped;
    const topics = new Map(TOPICS.map((topic) => [topic, this.#paced(topic, ring)]));
    const loaded = this.#sources.map((source) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      let isLoaded = false;
      const sourceLoaded = (): void => {
        resolve();
        // The source failed and started again, so it missed changes in between.
        if (isLoaded) this.#wake(() => ring.leaveGap());
        isLoaded = true;
      };
      const touch: Tell['touch'] = (topic, key) => {
        if (!signal.aborted) topics.get(topic)?.touch(key);
      };
      const run = (runSignal: AbortSignal): Promise<void> => source.run({ touch, loaded: sourceLoaded }, runSignal);
      void supervise(`events of ${source.name}`, run, signal, this.#following);
      return promise;
    });
    void aborted(signal).then(() => topics.forEach((paced) => paced.stop()));
    return {
      epoch: randomUUID().slice(0, 8),
      ring,
      loaded: Promise.all(loaded).then(() => undefined),
      stop: () => stopped.abort(),
    };
  }

  #paced(topic: Topic, ring: EventRing): CoalescedKeys {
    const renders = this.#sources.flatMap(({ render }) => render[topic] ?? []);
    const publish = (keys: readonly string[]): void => {
      const items = keys.flatMap((key) => renders.flatMap((render) => render(key) ?? []));
      if (items.length === 0) return;
      this.#wake(() => ring.append(topic, items));
    };
    return new CoalescedKeys(this.#following.clock, { paceMs: PACE_MS, maxKeys: MAX_ITEMS, publish });
  }

  /** Changes the ring, and lets all streams look at it. */
  #wake(change: () => void): void {
    change();
    for (const hear of [...this.#waiting]) hear();
  }
}

/** The position after which a stream goes on, or why it cannot. */
function positionOf(lastId: string | null, { epoch, ring }: Session): number | ResyncReason {
  if (lastId === null) return 'started';
  const [, of, sequence] = /^(\w+)\.(\d{1,15})$/.exec(lastId) ?? [];
  if (of !== epoch) return 'unknown';
  return ring.after(Number(sequence)) === null ? 'expired' : Number(sequence);
}

function idOf({ epoch }: Session, position: number): string {
  return `${epoch}.${String(position)}`;
}
