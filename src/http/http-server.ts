// The HTTP server of the REST API, with its limits: sizes, timeouts for slow senders, and a close that waits for requests in flight.
// Failures of the framework before routing are answered as all others.
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import fastify, { type FastifyInstance } from 'fastify';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { MAX_BODY_BYTES } from './body-size.ts';
import { refuseClient } from './client-errors.ts';
import { NO_SCHEMAS } from './no-schemas.ts';
import type { Yaml } from './yaml.ts';
import { MAX_PARAM_LENGTH, sendError, sendRoutingError } from './send-error.ts';

/** The size limit of other bodies: a token request, an accepted peer. */
export const SMALL_BODY_BYTES = 16 * 1024;
export const MAX_HEADER_BYTES = 16 * 1024;

/** The time limit of requests in flight when the API closes. */
const GRACE_MS = 10_000;

/** The time limits in milliseconds. */
export type Timeouts = {
  /** The limit from the first byte of a request to the end of its headers. */
  readonly headers: number;
  /** The limit from the first byte of a request to its last. */
  readonly request: number;
  /** The limit without any traffic on a connection. */
  readonly idle: number;
};

export const TIMEOUTS: Timeouts = { headers: 10_000, request: 60_000, idle: 120_000 };

export function createServer(
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  yaml: Yaml,
  timeouts: Timeouts = TIMEOUTS,
): FastifyInstance {
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: timeouts.request,
    connectionTimeout: timeouts.idle,
    keepAliveTimeout: timeouts.idle,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: timeouts.headers,
      connectionsCheckingInterval: Math.min(2_000, timeouts.headers),
    },
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    schemaController: NO_SCHEMAS,
    requestIdHeader: false,
    genReqId: ({ headers }) => requestId(headers['x-request-id']),
    routerOptions: {
      maxParamLength: MAX_PARAM_LENGTH,
      ignoreTrailingSlash: true,
      querystringParser: (text) => (text === '' ? {} : Object.fromEntries(new URLSearchParams(text))),
    },
    clientErrorHandler: refuseClient,
    frameworkErrors: (error, request, reply) => void sendRoutingError(error, request, reply, { log, yaml }),
  });
  endConnections(app, app.server, clock);
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, { log, yaml }));
  return app;
}

/** When the API closes, each connection ends after its current answer: keep-alive would delay the close. */
export function endConnections(
  app: FastifyInstance,
  server: Pick<Server, 'closeIdleConnections' | 'closeAllConnections'>,
  clock: Clock,
): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
    clock.after(GRACE_MS, () => server.closeAllConnections());
  });
  // A callback, not a promise: this runs with every request.
  app.addHook('onResponse', (_request, _reply, done) => {
    if (isClosing) setImmediate(() => server.closeIdleConnections());
    done();
  });
}

/** The request id of the caller if it is valid in a log and a header, else a new one. */
function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}
