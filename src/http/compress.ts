// Compresses large answers for callers that accept gzip. Streams and small answers are not compressed.
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

/** Below this size compression costs more than it saves. */
const MIN_BYTES = 8 * 1024;

export function compressAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return void done(null, payload);
    if (payload.length < MIN_BYTES || reply.getHeader('content-encoding') !== undefined) return void done(null, payload);
    reply.header('vary', [reply.getHeader('vary'), 'Accept-Encoding'].filter(Boolean).join(', '));
    if (!takesCoding(request.headers['accept-encoding'], 'gzip')) return void done(null, payload);
    reply.header('content-encoding', 'gzip').removeHeader('content-length');
    gzip(payload, { level: 3 }, (error, zipped) => (error === null ? done(null, zipped) : done(error)));
  });
}

/** Whether an Accept-Encoding header has the coding, or `*`, with a weight over 0. */
export function takesCoding(header: string | string[] | undefined, coding: 'gzip' | 'br'): boolean {
  return String(header ?? '')
    .split(',')
    .some((one) => {
      const [, name = ''] = /^\s*([\w*-]+)\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.exec(one) ?? [];
      return name === '*' || name.toLowerCase() === coding;
    });
}
