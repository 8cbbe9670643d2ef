// The HTTP side of the port: one route, in plain text where it refuses, because the program that asks prints the text.
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { createServer } from '../api/http-server.ts';
import type { Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Connections } from '../grpc/connections.ts';
import { RateLimitedLogger } from '../grpc/rate-limited-logger.ts';
import { StatusError } from '../grpc/status.ts';
import { answerBootstrap, type BootstrapSources } from './bootstrap-answer.ts';

export type BootstrapAppOptions = {
  readonly connections: Pick<Connections, 'refused' | 'requireTurn'>;
  readonly sources: BootstrapSources;
  readonly clock: Clock;
  readonly log: Logger;
};

const TEXT = 'text/plain; charset=utf-8';

export function createBootstrapApp({ connections, sources, clock, log }: BootstrapAppOptions): FastifyInstance {
  const refusals = new RateLimitedLogger(log, () => clock.elapsed());
  const app = createServer({ clock, log });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, async (_request: unknown, body: string | Buffer) => body);
  app.setNotFoundHandler(async (_request, reply) =>
    reply.code(404).type(TEXT).send('this port is for proxies: gRPC for Envoy, and POST /bootstrap'),
  );
  // A scope of its own, because the server around it answers errors as the REST API does.
  void app.register(async (routes) => {
    routes.setErrorHandler(async (error, request, reply) => {
      const status = statusOf(error);
      if (status >= 500) refusals.warn('failure', { reason: messageOf(error) }, 'a bootstrap failed');
      const text = status >= 500 ? 'the control plane cannot answer now; try again' : messageOf(error);
      connections.refused(peerOf(request.socket));
      await reply.code(status).type(TEXT).send(text);
    });
    routes.post<{ Body: string | undefined }>('/bootstrap', async ({ body = '', headers, socket }, reply) => {
      const peer = peerOf(socket);
      await connections.requireTurn(peer);
      const { host = '', accept = '' } = headers;
      const answer = await answerBootstrap({ body, host, accept }, sources);
      if (answer.status >= 400) {
        connections.refused(peer);
        const reason = answer.body || 'the Dataplane does not exist';
        refusals.warn(reason, { peer, status: answer.status, reason }, 'a proxy got no bootstrap');
      }
      return reply.code(answer.status).type(answer.type).send(answer.body);
    });
  });
  return app;
}

function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress}:${String(remotePort)}`;
}

function statusOf(error: unknown): number {
  if (error instanceof StatusError || (error instanceof MeridianError && error.code === 'unavailable')) return 503;
  const { statusCode } = error as { statusCode?: number };
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? statusCode : 500;
}
