// `GET /_events`: the changes at this control plane, as server-sent events for pages and commands that stay open. `resync` asks the client
// to read the lists again. Every other event has the newest state of the changed items, so an event may come twice. Invariant: the stream
// has no item of a type that the caller may not read.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { permitted } from '../http/access.ts';
import type { ApiContext } from '../api/api-options.ts';
import { badQuery } from '../http/error-body.ts';
import {
  eventText,
  EVENT_STREAM,
  EventStreams,
  HEARTBEAT,
  heartbeatText,
  HEARTBEAT_MS,
  jsonEventText,
} from '../http/event-stream.ts';
import { queryOf } from '../http/list-query.ts';
import { about, component } from '../http/route-config.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { EventHub, HubEvent } from './event-hub.ts';
import { TOPICS, type EventItem, type RingEvent, type Topic } from './event-ring.ts';

/** Milliseconds for which a caller may leave an event unread. It reconnects and resumes. */
export const UNREAD_MS = 30_000;
const ID = /^\w{1,40}\.\d{1,15}$/;

const SUMMARY = 'What changes, as server-sent events: resync, zones, lag, changes, problems, leader, error';

const route = about('Insights', SUMMARY, {
  query: ['topics', 'lastEventId'],
  answer: component('Events'),
  produces: [EVENT_STREAM],
});

export function addEventRoutes(app: FastifyInstance, context: ApiContext, hub: EventHub): void {
  const streams = new EventStreams(context, { noun: 'streams of events', unreadMs: UNREAD_MS });
  const { callers, options, clock } = context;
  app.addHook('onClose', async () => hub.stop());
  app.get('/_events', route, (request, reply) => {
    const topics = topicsOf(queryOf(request));
    const lastId = lastIdOf(request);
    const mayRead = permitted((type) => callers.requireMay(typeOf(type), request));
    const textOf = (event: HubEvent): string | null => hubText(event, topics, mayRead, options.instanceId);
    return streams.open(request, reply, async function* (signal) {
      let saidAt = clock.elapsed();
      for await (const event of hub.follow(lastId, HEARTBEAT_MS, signal)) {
        const text = textOf(event) ?? (clock.elapsed() - saidAt < HEARTBEAT_MS ? null : heartbeatOf(event));
        if (text === null) continue;
        yield text;
        saidAt = clock.elapsed();
      }
    });
  });
}

/**
 * The heartbeat, also for an event that the stream does not show: without a byte clients take the stream for broken, and without
 * the newest id they resume too early.
 */
function heartbeatOf({ id }: HubEvent): string {
  return id === null ? HEARTBEAT : heartbeatText(id);
}

/** Returns null for an event that the stream does not show. */
function hubText(
  event: HubEvent,
  topics: ReadonlySet<Topic>,
  mayRead: (type: string) => boolean,
  instanceId: string,
): string | null {
  if (event.kind === 'idle') return heartbeatOf(event);
  if (event.kind === 'resync') return eventText('resync', { reason: event.reason, instanceId }, event.id);
  const { topic, items } = event.event;
  if (!topics.has(topic)) return null;
  const shown = items.filter(({ type }) => type === null || mayRead(type));
  return shown.length === 0 ? null : jsonEventText(topic, textOfItems(event.event, shown), event.id);
}

/** The data of events whose items everybody on the stream may read: each is made once for all streams. */
const wholeTexts = new WeakMap<RingEvent, string>();

function textOfItems(event: RingEvent, shown: readonly EventItem[]): string {
  const known = shown.length === event.items.length ? wholeTexts.get(event) : undefined;
  if (known !== undefined) return known;
  const text = `{"items":[${shown.map(({ json }) => json).join(',')}]}`;
  if (shown.length === event.items.length) wholeTexts.set(event, text);
  return text;
}

/** The topics of a query; all if it names none. @throws ApiError 400 */
function topicsOf(query: URLSearchParams): ReadonlySet<Topic> {
  const given = (query.get('topics') ?? '').split(',').filter((topic) => topic !== '');
  const topics = given.map((one) => {
    const topic = TOPICS.find((known) => known === one);
    if (topic === undefined) throw badQuery('topics', `${JSON.stringify(one)} is none; they are ${TOPICS.join(', ')}`);
    return topic;
  });
  return new Set(topics.length === 0 ? TOPICS : topics);
}

/** The id of the last event that the client has: the header that browsers send when they connect again, or the query. */
function lastIdOf(request: FastifyRequest): string | null {
  const header = request.headers['last-event-id'];
  const given = typeof header === 'string' ? header : (queryOf(request).get('lastEventId') ?? '');
  if (given === '') return null;
  return ID.test(given) ? given : 'unknown.0';
}
