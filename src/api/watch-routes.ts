// `GET …?watch=true`: a list or an item as server-sent events. `put` has the resource, `delete` its key. `synced` says that all
// existing items have been sent. A comment is a heartbeat. `error` is the last event.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { toUniversal } from '../document/universal-form.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { ApiContext } from './api-options.ts';
import { eventText, EventStreams, HEARTBEAT, HEARTBEAT_MS } from '../http/event-stream.ts';
import { watchEvents, type Watched, type WatchEvent } from './watch-events.ts';

type Context = Pick<ApiContext, 'store' | 'clock' | 'closing' | 'options' | 'callers'>;

export class Watches {
  readonly #context: Context;
  readonly #streams: EventStreams;

  constructor(context: Context) {
    this.#context = context;
    this.#streams = new EventStreams(context, { noun: 'watches' });
  }

  /** Answers with the events of these rows. @throws ApiError 503 when there are too many watches */
  follow(request: FastifyRequest, reply: FastifyReply, info: TypeInfo, watched: Watched): FastifyReply {
    return this.#streams.open(request, reply, (signal) => this.#texts(info, watched, signal));
  }

  async *#texts(info: TypeInfo, watched: Watched, signal: AbortSignal): AsyncGenerator<string> {
    const { store, clock, options } = this.#context;
    const following = { store, clock, log: options.log, heartbeatMs: HEARTBEAT_MS };
    for await (const event of watchEvents(watched, following, signal)) yield streamedText(info, event);
  }
}

function streamedText(info: TypeInfo, event: WatchEvent): string {
  if (event.kind === 'heartbeat') return HEARTBEAT;
  if (event.kind === 'synced') return eventText('synced', {});
  if (event.kind === 'put') return eventText('put', toUniversal(info, event.row), String(event.row.version));
  const { type, mesh, name } = event.key;
  return eventText('delete', { type, ...(info.scope === 'Mesh' && { mesh }), name });
}
