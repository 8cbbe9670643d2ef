// The events that a part of the page has not looked at yet, and the time at which it looks at them.
import { isStreaming, onEvent, type LiveEvent, type Topic } from './events.ts';
import { pauseMs } from './pace.ts';

/** At least between two requests for one answer. */
const GAP_MS = 250;
/** Between two requests while no events come, and for what has no events. */
export const PERIOD_MS = 5_000;
/** More unread events than these are one request for everything. */
const MAX_UNREAD = 100;

/** @property topics `clock`: nothing tells of changes @property concerns whether an event of the topics counts; without it each does */
type Reader = {
  readonly topics: readonly (Topic | 'clock')[];
  readonly concerns?: (event: NonNullable<LiveEvent>) => boolean;
};

/** The events that came since the last request. */
export class Inbox {
  readonly #topics: Reader['topics'];
  readonly #concerns: NonNullable<Reader['concerns']>;
  readonly #signal: AbortSignal;
  /** Null: everything may have changed. */
  #unread: NonNullable<LiveEvent>[] | null = null;
  #wake: () => void = () => undefined;
  #isNudged = false;

  constructor({ topics, concerns = () => true }: Reader, signal: AbortSignal) {
    this.#topics = topics;
    this.#concerns = concerns;
    this.#signal = signal;
    const end = onEvent((event) => this.#put(event));
    signal.addEventListener('abort', () => (end(), this.#wake()), { once: true });
  }

  /** The events; null if everything must be asked for. */
  take(): readonly NonNullable<LiveEvent>[] | null {
    const taken = this.#unread;
    this.#unread = [];
    return taken;
  }

  /** Something may be missing: `filled` does not wait. */
  nudge(): void {
    this.#isNudged = true;
    this.#wake();
  }

  /**
   * Resolves when there is something to do, at the pace of the tab, and not at once: more may come.
   * @param mostMs null: events alone say when
   */
  async filled(mostMs: number | null): Promise<'events' | 'nudged'> {
    const waiting = new AbortController();
    const end = (): void => waiting.abort();
    this.#signal.addEventListener('abort', end);
    const woken = new Promise<void>((resolve) => {
      this.#wake = () => {
        resolve();
        if (this.#isNudged) end();
      };
    });
    if (this.#isNudged || this.#signal.aborted) end();
    await this.#filledAtPace(woken, mostMs, waiting.signal);
    this.#signal.removeEventListener('abort', end);
    const isNudged = this.#isNudged;
    this.#isNudged = false;
    return isNudged ? 'nudged' : 'events';
  }

  async #filledAtPace(woken: Promise<void>, mostMs: number | null, signal: AbortSignal): Promise<void> {
    await pause(GAP_MS, signal);
    if (!this.#isEmpty()) return await pause(pauseMs(), signal);
    const isAlone = this.#topics.length === 0 || this.#topics.includes('clock') || !isStreaming.value;
    const untilMs = mostMs ?? (isAlone ? PERIOD_MS : null);
    await (untilMs === null ? woken : Promise.race([woken, pause(untilMs, signal)]));
    if (signal.aborted) return;
    if (this.#isEmpty()) this.#unread = null;
    else await pause(pauseMs(), signal);
    await seen(signal);
  }

  #isEmpty(): boolean {
    return this.#unread !== null && this.#unread.length === 0;
  }

  #put(event: LiveEvent): void {
    if (event !== null && !(this.#topics.includes(event.topic) && this.#concerns(event))) return;
    if (event === null || this.#unread === null || this.#unread.length >= MAX_UNREAD) this.#unread = null;
    else this.#unread.push(event);
    this.#wake();
  }
}

/** Resolves after a time, or when the page leaves. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

/** Resolves when somebody can see the tab, or when the page leaves. */
async function seen(signal: AbortSignal): Promise<void> {
  if (!document.hidden || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      document.removeEventListener('visibilitychange', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    document.addEventListener('visibilitychange', end);
    signal.addEventListener('abort', end);
  });
}
