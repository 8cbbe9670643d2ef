// No answer shows a private key, but for documents that a caller reads who may read Secrets: a resource may hold a key itself, and it must
// come back as it was written (decision 93).
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { withoutKeyBytes, withoutKeys } from '../base/hidden-keys.ts';
import { isAllowed, type Callers } from './access.ts';

/** Whether the answer to a request may show keys: its route says so, and the caller may read Secrets. */
export function showsKeys(request: FastifyRequest, callers: Callers): boolean {
  const { showsKeys: shows = 'never' } = request.routeOptions.config;
  if (shows === 'never') return false;
  return shows === 'own' || isAllowed(() => callers.require('adminResources', request));
}

/** Streams of events hide the keys in each of their texts (event-stream.ts). */
export function hideKeys(app: FastifyInstance, callers: Callers): void {
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (typeof payload === 'string') done(null, showsKeys(request, callers) ? payload : withoutKeys(payload));
    else if (Buffer.isBuffer(payload)) done(null, showsKeys(request, callers) ? payload : withoutKeyBytes(payload));
    else done(null, payload);
  });
}
