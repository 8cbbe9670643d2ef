// `GET …?watch=true`: a list or an item as server-sent events. `put` has the resource, `delete` its key. `synced` says that all
// existing items have been sent. A comment is a heartbeat. `error` is the last event. Invariants: a watch ends with its client, the
// server or the token of its request. Every event is checked against that token.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MeridianError } from '../base/errors.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { ApiContext } from './api-options.ts';
import type { TokenGuard } from '../token/token-guard.ts';
import { anonymousUser } from '../token/authenticate-request.ts';
import { ApiError, errorBody, unauthenticated } from './error-body.ts';
import type { RowFilter } from './list-rows.ts';
import { toUniversal } from '../document/universal-form.ts';
import { WatchPermits } from './watch-permits.ts';
import { watchEvents, type WatchEvent } from './watch-events.ts';

export const EVENT_STREAM = 'text/event-stream';
const HEARTBEAT_MS = 15_000;

type Context = Pick<ApiContext, 'store' | 'clock' | 'closing' | 'options' | 'callers'>;

export class Watches {
  readonly #context: Context;
  readonly #permits = new WatchPermits();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Answers with the events of the rows that the filter names. @throws ApiError 503 when there are too many watches */
  follow(request: FastifyRequest, reply: FastifyReply, info: TypeInfo, filter: RowFilter): FastifyReply {
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
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
    return reply
      .type(EVENT_STREAM)
      .send(Readable.from(this.#texts(info, filter, { guard, signal, requestId: request.id }), { objectMode: false }));
  }

  async *#texts(info: TypeInfo, filter: RowFilter, { guard, signal, requestId }: Watch): AsyncGenerator<string> {
    const { store, clock, options } = this.#context;
    try {
      // Send the headers before the first event.
      yield ': watching\n\n';
      const living = guard === null ? signal : AbortSignal.any([signal, guard.ended]);
      for await (const event of watchEvents(filter, { store, clock, log: options.log, heartbeatMs: HEARTBEAT_MS }, living)) {
        if (guard !== null && (await guard.refusal()) !== null) break;
        yield streamedText(info, event);
      }
      const refusal = (await guard?.refusal()) ?? null;
      if (refusal !== null) yield eventText('error', errorBody(unauthenticated(`the user token ${refusal}`)));
    } catch (error) {
      if (!(error instanceof MeridianError)) options.log.error({ requestId, err: error }, 'a watch failed');
      yield eventText('error', errorBody(error));
    }
  }
}

type Watch = { readonly guard: TokenGuard | null; readonly signal: AbortSignal; readonly requestId: string };

function streamedText(info: TypeInfo, event: WatchEvent): string {
  if (event.kind === 'heartbeat') return ': alive\n\n';
  if (event.kind === 'synced') return eventText('synced', {});
  if (event.kind === 'put') return eventText('put', toUniversal(info, event.row), String(event.row.version));
  const { type, mesh, name } = event.key;
  return eventText('delete', { type, ...(info.scope === 'Mesh' && { mesh }), name });
}

/** Compact JSON has no line breaks, so one line of data is enough. */
function eventText(event: string, data: unknown, id?: string): string {
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}
