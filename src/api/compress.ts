// gzip of large answers for callers that take it. Streams and small answers go as they are.
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

/** Below this the bytes saved are not worth a turn of the thread pool. */
const MIN_BYTES = 8 * 1024;

export function compressAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return void done(null, payload);
    if (payload.length < MIN_BYTES || reply.getHeader('content-encoding') !== undefined) return void done(null, payload);
    reply.header('vary', [reply.getHeader('vary'), 'Accept-Encoding'].filter(Boolean).join(', '));
    if (!takesGzip(request.headers['accept-encoding'])) return void done(null, payload);
    reply.header('content-encoding', 'gzip').removeHeader('content-length');
    gzip(payload, { level: 3 }, (error, zipped) => (error === null ? done(null, zipped) : done(error)));
  });
}

function takesGzip(header: string | string[] | undefined): boolean {
  return String(header ?? '')
    .split(',')
    .some((coding) => /^\s*(gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(coding));
}
