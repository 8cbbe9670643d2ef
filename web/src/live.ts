// Answers that stay current. A page names the topics on which its answer depends; it is asked again, or patched, when one of them moves.
import { useEffect, useRef, useState } from 'preact/hooks';
import { signal } from '@preact/signals';
import { hasBegun, isStreaming, onEvent, type LiveEvent, type Topic } from './events.ts';
import { pauseMs, spend, workOf } from './pace.ts';
import { ApiFailure, loginReason, logins } from './session.ts';

/** Whether the control plane answered the last time it was asked. */
export const isConnected = signal(true);
/** The time, for words such as «2 min ago». */
export const now = signal(Date.now());

/** At least between two requests for one answer. */
const GAP_MS = 250;
/** Between two requests while no events come, and for what has no events. */
const PERIOD_MS = 5_000;
/** The first of the growing times between two requests for an answer that is not settled. */
const UNSETTLED_MS = 500;
/** More unread events than these are one request for everything. */
const MAX_UNREAD = 100;

setInterval(() => (now.value = Date.now()), PERIOD_MS);

export type Live<T> = {
  /** Undefined until the first answer. A later failure keeps the last answer. */
  readonly data: T | undefined;
  readonly failure: ApiFailure | undefined;
  readonly reload: () => void;
};

export type Loading<T> = {
  /** Names what is loaded; another key drops the answer. */
  readonly key: string;
  /** None: it is loaded until it succeeds. `clock`: nothing tells of its changes, so it is asked for again after a while. */
  readonly topics: readonly (Topic | 'clock')[];
  readonly load: (signal: AbortSignal) => Promise<T>;
  /** Whether an event of the topics can change the answer; without it each can. */
  readonly concerns?: (event: NonNullable<LiveEvent>) => boolean;
  /** The answer after the events that came since; without it the answer is loaded again. */
  readonly patch?: (data: T, events: readonly NonNullable<LiveEvent>[], signal: AbortSignal) => Promise<T>;
  /** Whether the answer will change without an event. As long as it is so, the answer is asked for again after a while. */
  readonly isUnsettled?: (data: T) => boolean;
};

type Known<T> = { readonly key: string; readonly data: T | undefined; readonly failure: ApiFailure | undefined };

export function useLive<T>(
  key: string,
  topics: Loading<T>['topics'],
  load: Loading<T>['load'],
  more: Pick<Loading<T>, 'concerns' | 'patch' | 'isUnsettled'> = {},
): Live<T> {
  const [known, setKnown] = useState<Known<T>>({ key, data: undefined, failure: undefined });
  const [asked, setAsked] = useState(0);
  const user = logins.value;
  const isWaiting = loginReason.value !== null;
  useEffect(() => {
    if (isWaiting) return undefined;
    const gone = new AbortController();
    const loading = { key, topics, load, ...more };
    void follow(loading, gone.signal, ({ data, failure }) => {
      isConnected.value = failure?.status !== 0;
      setKnown((before) => ({ key, data: data ?? (before.key === key ? before.data : undefined), failure }));
    });
    return () => gone.abort();
  }, [key, asked, user, isWaiting]);
  const current = known.key === key ? known : { data: undefined, failure: undefined };
  return { data: current.data, failure: current.failure, reload: () => setAsked((count) => count + 1) };
}

/** The last data that there was: an answer to a new filter takes the place of the old one without a gap. */
export function useLast<T>(data: T | undefined): T | undefined {
  const last = useRef(data);
  if (data !== undefined) last.current = data;
  return last.current;
}

type Outcome<T> = { readonly data?: T; readonly failure?: ApiFailure | undefined };
type Show<T> = (outcome: Outcome<T> & { readonly failure: ApiFailure | undefined }) => void;

/** Loads now, and again whenever a topic moves, one request at a time, until the signal aborts. */
async function follow<T>(loading: Loading<T>, signal: AbortSignal, show: Show<T>): Promise<void> {
  const { topics, load, patch, isUnsettled } = loading;
  let isFirst = true;
  if (topics.length > 0) await hasBegun;
  let data: T | undefined;
  let unsettledMs = 0;
  const inbox = new Inbox(loading, signal);
  while (!signal.aborted) {
    const events = inbox.take();
    const before = workOf(signal);
    const outcome = await attempt(async () => {
      if (data === undefined || patch === undefined || events === null) return await load(signal);
      return await patch(data, events, signal);
    });
    if (!isFirst) spend(workOf(signal) - before, PERIOD_MS);
    isFirst = false;
    if (signal.aborted) return;
    data = outcome.data;
    show({ ...outcome, failure: outcome.failure });
    if (topics.length === 0 && !isPassing(outcome.failure)) return;
    const isOpen = data !== undefined && isUnsettled?.(data) === true;
    unsettledMs = isOpen ? Math.min(PERIOD_MS, Math.max(UNSETTLED_MS, unsettledMs * 2)) : 0;
    await inbox.filled(isOpen ? unsettledMs : null);
  }
}

/** Whether the same request may succeed later. */
function isPassing(failure: ApiFailure | undefined): boolean {
  return failure !== undefined && (failure.status === 0 || failure.status >= 500);
}

async function attempt<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { data: await work() };
  } catch (error) {
    return { failure: error instanceof ApiFailure ? error : new ApiFailure(0, String(error)) };
  }
}

/** The events that came since the last request. */
class Inbox {
  readonly #topics: Loading<unknown>['topics'];
  readonly #concerns: NonNullable<Loading<unknown>['concerns']>;
  readonly #signal: AbortSignal;
  /** Null: everything may have changed. */
  #unread: NonNullable<LiveEvent>[] | null = null;
  #wake: () => void = () => undefined;

  constructor({ topics, concerns = () => true }: Pick<Loading<unknown>, 'topics' | 'concerns'>, signal: AbortSignal) {
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

  /** Resolves when there is something to do, at the pace of the tab, and not at once: more may come. @param mostMs null: events alone say when */
  async filled(mostMs: number | null): Promise<void> {
    await pause(GAP_MS, this.#signal);
    if (!this.#isEmpty()) return await pause(pauseMs(), this.#signal);
    const isAlone = this.#topics.length === 0 || this.#topics.includes('clock') || !isStreaming.value;
    const woken = new Promise<void>((resolve) => (this.#wake = resolve));
    const untilMs = mostMs ?? (isAlone ? PERIOD_MS : null);
    await (untilMs === null ? woken : Promise.race([woken, pause(untilMs, this.#signal)]));
    if (this.#isEmpty()) this.#unread = null;
    else await pause(pauseMs(), this.#signal);
    await seen(this.#signal);
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
  if (!document.hidden) return;
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
