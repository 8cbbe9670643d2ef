// Answers that stay current. A page names the topics on which its answer depends; it is asked again, or patched, when one of them moves.
import { useEffect, useRef, useState } from 'preact/hooks';
import { signal } from '@preact/signals';
import { hasBegun, type LiveEvent, type Topic } from './events.ts';
import { Inbox, PERIOD_MS } from './inbox.ts';
import { spend, workOf } from './pace.ts';
import { ApiFailure, loginReason, logins } from './session.ts';

/** Whether the control plane answered the last time it was asked. */
export const isConnected = signal(true);
/** The time, for words such as «2 min ago». */
export const now = signal(Date.now());

/** The first of the growing times between two requests for an answer that is not settled. */
const UNSETTLED_MS = 500;

/** Nothing is asked for while it is true: what the page shows is about to be removed. Afterwards everything is asked for again. */
export const isHeld = signal(false);

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
  /** The answer with a part that was missing in it, and shown before the next one; null if nothing is missing. */
  readonly complete?: (data: T, signal: AbortSignal) => Promise<T | null>;
  /** When it changes, something may be missing. */
  readonly wanted?: string;
  /** Whether the answer will change without an event. As long as it is so, the answer is asked for again after a while. */
  readonly isUnsettled?: (data: T) => boolean;
};

type Known<T> = { readonly key: string; readonly data: T | undefined; readonly failure: ApiFailure | undefined };

export function useLive<T>(
  key: string,
  topics: Loading<T>['topics'],
  load: Loading<T>['load'],
  more: Partial<Omit<Loading<T>, 'key' | 'topics' | 'load'>> = {},
): Live<T> {
  const [known, setKnown] = useState<Known<T>>({ key, data: undefined, failure: undefined });
  const [asked, setAsked] = useState(0);
  const user = logins.value;
  const isWaiting = loginReason.value !== null || isHeld.value;
  const inbox = useRef<Inbox>(null);
  useEffect(() => {
    if (isWaiting) return undefined;
    const gone = new AbortController();
    const loading = { key, topics, load, ...more };
    inbox.current = new Inbox(loading, gone.signal);
    void follow(loading, inbox.current, gone.signal, ({ data, failure }) => {
      isConnected.value = failure?.status !== 0;
      setKnown((before) => ({ key, data: data === undefined && before.key === key ? before.data : data, failure }));
    });
    return () => gone.abort();
  }, [key, asked, user, isWaiting]);
  useEffect(() => inbox.current?.nudge(), [more.wanted]);
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
async function follow<T>(loading: Loading<T>, inbox: Inbox, signal: AbortSignal, show: Show<T>): Promise<void> {
  const { topics, load, patch, complete, isUnsettled } = loading;
  let isFirst = true;
  let isNudged = false;
  if (topics.length > 0) await hasBegun;
  let data: T | undefined;
  let failure: ApiFailure | undefined;
  let unsettledMs = 0;
  while (!signal.aborted) {
    if (!isNudged || data === undefined) {
      const events = inbox.take();
      const before = workOf(signal);
      const outcome = await attempt(async () => {
        if (data === undefined || patch === undefined || events === null) return await load(signal);
        return await patch(data, events, signal);
      });
      if (!isFirst) spend(workOf(signal) - before, PERIOD_MS);
      isFirst = false;
      if (signal.aborted) return;
      ({ data, failure } = outcome);
      show({ ...outcome, failure });
      if (topics.length === 0 && !isPassing(failure)) return;
    }
    if (data !== undefined && complete !== undefined) ({ data, failure } = await completeAll(data, complete, signal, show));
    const isOpen = data !== undefined && isUnsettled?.(data) === true;
    unsettledMs = isOpen ? Math.min(PERIOD_MS, Math.max(UNSETTLED_MS, unsettledMs * 2)) : 0;
    const untilMs = isPassing(failure) ? PERIOD_MS : isOpen ? unsettledMs : null;
    isNudged = (await inbox.filled(untilMs)) === 'nudged';
  }
}

/** Shows each part as it comes. @returns no data after a failure */
async function completeAll<T>(
  data: T,
  complete: NonNullable<Loading<T>['complete']>,
  signal: AbortSignal,
  show: Show<T>,
): Promise<Outcome<T>> {
  for (let known = data; ;) {
    const { data: next, failure } = await attempt(() => complete(known, signal));
    if (signal.aborted || next === null) return { data: known };
    show({ ...(next !== undefined && { data: next }), failure });
    if (next === undefined) return { failure };
    known = next;
  }
}

/** The status of a caller that sends too many requests. */
const TOO_MANY = 429;

/** Whether the same request may succeed later. */
function isPassing(failure: ApiFailure | undefined): boolean {
  return failure !== undefined && (failure.status === 0 || failure.status === TOO_MANY || failure.status >= 500);
}

async function attempt<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { data: await work() };
  } catch (error) {
    return { failure: error instanceof ApiFailure ? error : new ApiFailure(0, String(error)) };
  }
}
