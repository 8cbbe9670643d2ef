// `GET …?watch=true`: a list or an item as server-sent events. `put` has the resource, `delete` its key, `synced` says that all
// there was has been told, a comment is a heartbeat, `error` is the last. Invariant: a watch ends with its client or the server.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MeridianError } from '../base/errors.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { ApiContext } from './api-options.ts';
import { ApiError, errorBody } from './error-body.ts';
import type { RowFilter } from './list-rows.ts';
import { bodyOf } from './resource-body.ts';
import { watchEvents, type WatchEvent } from './watch-events.ts';

export const EVENT_STREAM = 'text/event-stream';
const MOST_WATCHES = 256;
const HEARTBEAT_MS = 15_000;

export class Watches {
  readonly #context: Pick<ApiContext, 'store' | 'clock' | 'closing' | 'options'>;
  #open = 0;

  constructor(context: Pick<ApiContext, 'store' | 'clock' | 'closing' | 'options'>) {
    this.#context = context;
  }

  /** Answers with the events of the rows that the filter names. @throws ApiError 503 when there are too many watches */
  follow(request: FastifyRequest, reply: FastifyReply, info: TypeInfo, filter: RowFilter): FastifyReply {
    if (this.#open >= MOST_WATCHES)
      throw new ApiError(
        'unavailable',
        'Service unavailable',
        `there are ${String(MOST_WATCHES)} watches already; try again later`,
      );
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#context.closing]);
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
    return reply.type(EVENT_STREAM).send(Readable.from(this.#texts(info, filter, signal, request.id), { objectMode: false }));
  }

  async *#texts(info: TypeInfo, filter: RowFilter, signal: AbortSignal, requestId: string): AsyncGenerator<string> {
    const { store, clock, options } = this.#context;
    this.#open += 1;
    try {
      // So that headers go out before the feed says its first word.
      yield ': watching\n\n';
      for await (const event of watchEvents(filter, { store, clock, heartbeatMs: HEARTBEAT_MS }, signal))
        yield textOf(info, event);
    } catch (error) {
      if (!(error instanceof MeridianError)) options.log.error({ requestId, err: error }, 'a watch failed');
      yield eventText('error', errorBody(error));
    } finally {
      this.#open -= 1;
    }
  }
}

function textOf(info: TypeInfo, event: WatchEvent): string {
  if (event.kind === 'heartbeat') return ': alive\n\n';
  if (event.kind === 'synced') return eventText('synced', {});
  if (event.kind === 'put') return eventText('put', bodyOf(info, event.row), String(event.row.version));
  const { type, mesh, name } = event.key;
  return eventText('delete', { type, ...(info.scope === 'Mesh' && { mesh }), name });
}

/** JSON has no line breaks of its own when it is compact, so that one line of data is enough. */
function eventText(event: string, data: unknown, id?: string): string {
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}
