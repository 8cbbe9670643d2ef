// A long-lived answer of server-sent events. Invariants: it ends with its client, the server or the token of its request. Every event is
// checked against that token, and shows no private key that the answer to such a request may not show. An event that stays unread for `unreadMs` ends the answer, if the route sets that limit.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MeridianError } from '../base/errors.ts';
import { withoutKeys } from '../base/hidden-keys.ts';
import { anonymousUser } from '../token/authenticate-request.ts';
import type { TokenGuard } from '../token/token-guard.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Callers } from './access.ts';
import { ApiError, errorBody, unauthenticated } from './error-body.ts';
import { showsKeys } from './hide-keys.ts';
import { WatchPermits } from './watch-permits.ts';

export const EVENT_STREAM = 'text/event-stream';
/** Milliseconds without an event after which a stream sends a comment. */
export const HEARTBEAT_MS = 15_000;
/** The comment of a stream without news. */
export const HEARTBEAT = ': alive\n\n';

/** A heartbeat that also moves the id on after which a client resumes. A block without data is no event. */
export function heartbeatText(id: string): string {
  return `: alive\nid: ${id}\n\n`;
}

type Context = {
  readonly clock: Clock;
  /** Aborts when the server begins to close. */
  readonly closing: AbortSignal;
  readonly callers: Callers;
  readonly options: { readonly log: Logger };
};

type EventStreamOptions = {
  /** The noun for open streams, in the plural, for the refusal at the limit. */
  readonly noun: string;
  /** Milliseconds after which an event that the caller does not take ends the stream; no limit if left out. */
  readonly unreadMs?: number;
};

/** The events of one stream as texts, until the signal aborts. */
type EventTexts = (signal: AbortSignal) => AsyncIterable<string>;

type Opened = {
  readonly guard: TokenGuard | null;
  readonly signal: AbortSignal;
  readonly requestId: string;
  readonly showsKeys: boolean;
  readonly cut: () => void;
};

/** The open streams of one kind, with limits for each caller. */
export class EventStreams {
  readonly #context: Context;
  readonly #unreadMs: number;
  readonly #permits: WatchPermits;

  constructor(context: Context, { noun, unreadMs = Infinity }: EventStreamOptions) {
    this.#context = context;
    this.#unreadMs = unreadMs;
    this.#permits = new WatchPermits(noun);
  }

  /** Answers with these events. @throws ApiError 503 when there are too many streams */
  open(request: FastifyRequest, reply: FastifyReply, texts: EventTexts): FastifyReply {
    const { callers, clock, closing } = this.#context;
    const isAnonymous = callers.userOf(request) === anonymousUser;
    const permit = this.#permits.take({ address: request.socket.remoteAddress ?? '', isAnonymous });
    if ('refusal' in permit)
      throw new ApiError('unavailable', 'Service unavailable', `${permit.refusal}; end one, or try again later`);
    const gone = new AbortController();
    const end = (): void => {
      permit.release();
      gone.abort();
    };
    reply.raw.once('close', end);
    if (reply.raw.closed) end();
    const signal = AbortSignal.any([gone.signal, closing]);
    const guard = callers.guard(request, clock, signal);
    const opened = {
      guard,
      signal,
      requestId: request.id,
      showsKeys: showsKeys(request, callers),
      cut: (): void => void reply.raw.destroy(),
    };
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
    return reply.type(EVENT_STREAM).send(Readable.from(this.#checked(texts, opened), { objectMode: false }));
  }

  async *#checked(texts: EventTexts, { guard, signal, requestId, showsKeys: shows, cut }: Opened): AsyncGenerator<string> {
    const { clock, options } = this.#context;
    let taken = (): void => undefined;
    try {
      // Send the headers before the first event.
      yield ': watching\n\n';
      const living = guard === null ? signal : AbortSignal.any([signal, guard.ended]);
      for await (const text of texts(living)) {
        if (guard !== null && (await guard.refusal()) !== null) break;
        if (this.#unreadMs !== Infinity) taken = clock.after(this.#unreadMs, cut);
        yield shows ? text : withoutKeys(text);
        taken();
      }
      const refusal = (await guard?.refusal()) ?? null;
      if (refusal !== null) yield eventText('error', errorBody(unauthenticated(`the user token ${refusal}`)));
    } catch (error) {
      if (!(error instanceof MeridianError)) options.log.error({ requestId, err: error }, 'a stream of events failed');
      yield withoutKeys(eventText('error', errorBody(error)));
    } finally {
      taken();
    }
  }
}

/** Compact JSON has no line breaks, so one line of data is enough. */
export function eventText(event: string, data: unknown, id?: string): string {
  return jsonEventText(event, JSON.stringify(data), id);
}

/** @param json compact JSON */
export function jsonEventText(event: string, json: string, id: string | undefined): string {
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${json}\n\n`;
}
