// The one stream of events of this tab. It resumes after the last event that came, and `resync` says that everything must be asked again.
import { effect, signal } from '@preact/signals';
import { createParser } from 'eventsource-parser';
import type { Answer } from '../../src/answers/answers.ts';
import { loginReason, logins, open } from './session.ts';

type Events = Answer<'Events'>;
export type Topic = Exclude<keyof Events, 'resync'>;
/** An event of a topic, or null: everything may have changed. */
export type LiveEvent = { readonly [T in Topic]: { readonly topic: T; readonly data: Events[T] } }[Topic] | null;

/** Whether events come now. Without them, pages ask again after a while. */
export const isStreaming = signal(false);

/** The control plane sends some bytes each 15 s. A stream without any for this time is dead, and nothing else says so. */
const SILENT_MS = 45_000;
const RETRY_MS = { first: 500, most: 10_000 };
/** A page does not wait longer for the stream before it asks. */
const START_MS = 300;

const listeners = new Set<(event: LiveEvent) => void>();
let lastId = '';
let begun: () => void = () => undefined;

/** Resolves when the stream has begun, or when it takes too long: an answer that is asked for then is not asked for twice. */
export const hasBegun = new Promise<void>((resolve) => {
  begun = resolve;
  setTimeout(resolve, START_MS);
});

/** @returns the end of the subscription */
export function onEvent(listener: (event: LiveEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Follows the stream as the present user, for as long as the page is open. */
export function followEvents(): void {
  effect(() => {
    const isWaiting = loginReason.value !== null;
    // A new user may read other things.
    if (logins.value >= 0) lastId = '';
    if (isWaiting) return undefined;
    const ended = new AbortController();
    void stayConnected(ended.signal);
    return () => ended.abort();
  });
}

async function stayConnected(signal: AbortSignal): Promise<void> {
  let pause = RETRY_MS.first;
  while (!signal.aborted) {
    const start = performance.now();
    try {
      await readStream(signal);
    } catch {
      // The requests of the page say what is wrong.
    }
    if (isStreaming.value) everythingMoved();
    isStreaming.value = false;
    begun();
    // A stream that ends at once may do so again.
    pause = performance.now() - start > RETRY_MS.most ? RETRY_MS.first : Math.min(RETRY_MS.most, pause * 2);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Ends with the stream, with the signal, or when nothing comes for too long. */
async function readStream(signal: AbortSignal): Promise<void> {
  const silence = new AbortController();
  let timer = 0;
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENT_MS);
  };
  heard();
  try {
    await readEvents(signal, silence.signal, heard);
  } finally {
    clearTimeout(timer);
  }
}

async function readEvents(signal: AbortSignal, silence: AbortSignal, heard: () => void): Promise<void> {
  const path = lastId === '' ? '/_events' : `/_events?lastEventId=${encodeURIComponent(lastId)}`;
  const { body } = await open(path, { accept: 'text/event-stream', signal }, silence);
  if (body === null) return;
  const parser = createParser({
    // A heartbeat has an id, too, and is no event.
    onId: (id) => (lastId = id),
    onEvent: ({ event, data }) => {
      isStreaming.value = true;
      emit(event ?? '', data);
    },
  });
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    heard();
    parser.feed(text);
  }
}

function emit(name: string, data: string): void {
  if (name === 'error') return;
  if (name === 'resync') everythingMoved();
  else for (const listener of listeners) listener({ topic: name, data: JSON.parse(data) as unknown } as LiveEvent);
  begun();
}

/** Also when the stream ends: the pages then ask, and say if there is no answer. */
function everythingMoved(): void {
  for (const listener of listeners) listener(null);
}
