// The HTTP behaviour of all routes (rest-api 1.3): plain-text 404, 405, 406 and 415, CORS, request ids.
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { accepts } from './accept.ts';
import { EVENT_STREAM } from './event-stream.ts';
import { pathOf } from './send-error.ts';
import { queryOf } from './list-query.ts';

const METHODS = ['GET', 'PUT', 'POST', 'DELETE'] as const satisfies HTTPMethods[];
const YAML_BODY = /^application\/yaml\s*(;|$)/i;
const JSON_BODY = /^application\/json\s*(;|$)/i;

export function followConventions(app: FastifyInstance, corsAllowedDomains: readonly string[]): void {
  // Callbacks, not promises: this runs with every request. An answer that was sent ends the chain.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    if (answerCors(request, reply, corsAllowedDomains)) return;
    if (request.is404) return void done();
    const { produces = [], takesYaml = false } = request.routeOptions.config;
    const type = request.headers['content-type'] ?? '';
    const isRead = JSON_BODY.test(type) || (takesYaml && YAML_BODY.test(type));
    if ((request.method === 'PUT' || request.method === 'POST') && !isRead)
      return void plain(reply, 415, '415: Unsupported Media Type');
    // A stream of events is the answer to `watch` alone.
    const watches = queryOf(request).get('watch') === 'true';
    const isOffered = (type: string): boolean =>
      type !== EVENT_STREAM || watches || !(request.routeOptions.config.query ?? []).includes('watch');
    const offered = ['application/json', 'application/problem+json', ...produces.filter(isOffered)];
    if (!offered.some((type) => accepts(request.headers.accept, type))) return void plain(reply, 406, '406: Not Acceptable');
    done();
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    const type = reply.getHeader('content-type');
    if (typeof type === 'string' && type.endsWith('json; charset=utf-8')) reply.header('content-type', type.split(';')[0]);
    done(null, payload);
  });
  app.setNotFoundHandler(async (request, reply) => {
    const url = pathOf(request.url);
    const allowed = METHODS.filter((method) => app.findRoute({ method, url }) !== null);
    if (allowed.length === 0) return plain(reply, 404, '404: Page Not Found');
    return plain(reply.header('allow', allowed.join(', ')), 405, '405: Method Not Allowed');
  });
}

/**
 * Adds the headers for an allowed origin. Domains are compared literally, ignoring case; `.*` allows all.
 * @returns true if the request was a preflight and is answered. A preflight with request headers gets no CORS headers
 */
function answerCors(request: FastifyRequest, reply: FastifyReply, domains: readonly string[]): boolean {
  const { origin } = request.headers;
  if (origin === undefined || domains.length === 0) return false;
  const isAllowed = domains.some((domain) => domain === '.*' || domain.toLowerCase() === origin.toLowerCase());
  if (!isAllowed) return false;
  const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
  const namesHeaders = request.headers['access-control-request-headers'] !== undefined;
  if (!isPreflight || !namesHeaders) {
    reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', 'Access-Control-Allow-Origin');
    reply.header('vary', 'Origin');
  }
  if (!isPreflight) return false;
  if (!namesHeaders) reply.header('access-control-allow-methods', METHODS.join(', '));
  reply.code(200).type('text/plain').send('');
  return true;
}

function plain(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type('text/plain').send(text);
}
