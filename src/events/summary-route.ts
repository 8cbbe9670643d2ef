// `GET /zones/_summary`: all zones, a line each, for lists of ten thousand. An overview of a zone has some kilobytes, mostly of its
// configuration. The zones are those in memory for the events: a client that reads this after `resync` misses nothing.
import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { ApiContext } from '../api/api-options.ts';
import { whileConnected } from '../writes/await-zones.ts';
import { about } from '../http/route-config.ts';
import type { Events } from './create-events.ts';
import { namesTag } from '../http/entity-tag.ts';

/** Milliseconds for which callers get the same text, unless an event came meanwhile. */
const KEEP_MS = 250;
/** Milliseconds until the store is read for this answer alone. */
const LOAD_MS = 10_000;

const route = about('Insights', 'All zones, a line each; with If-None-Match an answer without a change is a 304', {
  unchanged: true,
  answer: {
    type: 'object',
    required: ['total', 'items'],
    properties: {
      total: { type: 'integer', minimum: 0 },
      items: { type: 'array', items: { $ref: '#/components/schemas/ZoneSummary' } },
    },
  },
});

type Answered = { readonly until: number; readonly after: string | null; readonly text: string; readonly etag: string };

export function addSummaryRoute(
  app: FastifyInstance,
  { clock, closing }: ApiContext,
  { hub, summaries }: Pick<Events, 'hub' | 'summaries'>,
): void {
  let last: Answered | null = null;
  let next: Promise<Answered> | null = null;
  const made = async (): Promise<Answered> => {
    const after = hub.newestId;
    const items = await summaries();
    const text = `${JSON.stringify({ total: items.length, items })}\n`;
    const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
    return (last = { until: clock.elapsed() + KEEP_MS, after, text, etag });
  };
  const answer = async (signal: AbortSignal): Promise<Answered> => {
    if (last !== null && clock.elapsed() < last.until && last.after === hub.newestId) return last;
    await hub.load(LOAD_MS, signal);
    // All pages ask at the same time after `resync`.
    next ??= made().finally(() => (next = null));
    return await next;
  };
  app.get('/zones/_summary', route, async (request, reply) => {
    const { text, etag } = await answer(whileConnected(reply, closing));
    // A browser keeps the answer, and asks whether it is still so.
    reply.header('etag', etag).header('cache-control', 'private, no-cache');
    if (namesTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type('application/json').send(text);
  });
}
