// Refuses URLs that are invalid on every route: U+0000, which no database stores, and a watch of a computed resource. Invariant: no
// handler receives such a URL.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError, badQuery } from './error-body.ts';
import { parseFlag, queryOf } from './list-query.ts';
import { EVENT_STREAM } from './event-stream.ts';

/** The path parameters that name resources, with the title of their 404. */
const NAMES: Readonly<Record<string, string>> = { mesh: 'Failed to retrieve Mesh', name: 'Could not retrieve a resource' };

export function checkUrls(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) return done();
    try {
      if (request.url.includes('%')) refuseNul(request);
      if (request.url.includes('watch')) refuseComputedWatch(request);
      done();
    } catch (error) {
      done(error as Error);
    }
  });
}

/** @throws ApiError 404 if the text names the resource of a GET or DELETE, else 400 */
function refuseNul(request: FastifyRequest): void {
  for (const [field, value] of Object.entries(request.params as Record<string, string>)) {
    if (!value.includes('\0')) continue;
    const title = NAMES[field];
    if (title === undefined || request.method === 'PUT') throw badQuery(field, 'must not have the character U+0000');
    const isDelete = request.method === 'DELETE' && field === 'name';
    throw new ApiError(
      'not_found',
      isDelete ? 'Could not delete a resource' : title,
      `Not found: no ${field} has the character U+0000`,
    );
  }
  for (const [field, value] of queryOf(request))
    if (value.includes('\0') || field.includes('\0')) throw badQuery(field, 'must not have the character U+0000');
}

/** @throws ApiError 400 for `watch=true` on a computed resource */
function refuseComputedWatch(request: FastifyRequest): void {
  const { produces = [] } = request.routeOptions.config;
  if (request.method !== 'GET' || produces.includes(EVENT_STREAM) || !parseFlag(queryOf(request), 'watch')) return;
  throw badQuery('watch', 'this answer is computed and cannot be watched; watch the resources that it is computed from');
}
