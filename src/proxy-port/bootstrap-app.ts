// The HTTP routes of the port, for launchers. A refusal is plain text, because the launcher prints it.
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { DocumentThreads } from '../writes/document-threads.ts';
import { Yaml } from '../http/yaml.ts';
import { createServer } from '../http/http-server.ts';
import type { Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { CallPermit } from '../grpc/call-permit.ts';
import type { Connections } from '../grpc/connections.ts';
import { RateLimitedLogger } from '../base/rate-limited-logger.ts';
import { StatusError } from '../grpc/status.ts';
import { answerBootstrap, type BootstrapSources } from './bootstrap-answer.ts';
import { answerLeave, type LeaveSources } from './leave-answer.ts';
import type { PortAnswer } from './proxy-request.ts';

type BootstrapAppOptions = {
  readonly connections: Pick<Connections, 'permitOf'>;
  readonly sources: BootstrapSources & LeaveSources;
  readonly clock: Clock;
  readonly log: Logger;
};

type Asked = { readonly body: string; readonly host: string; readonly accept: string };

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a request to the port for proxies; null for other requests. */
    permit: CallPermit | null;
  }
}

const TEXT = 'text/plain; charset=utf-8';

export function createBootstrapApp({ connections, sources, clock, log }: BootstrapAppOptions): FastifyInstance {
  const refusals = new RateLimitedLogger(log, () => clock.elapsed());
  const app = createServer({ clock, log }, new Yaml(new DocumentThreads(clock)));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, async (_request: unknown, body: string | Buffer) => body);
  app.setNotFoundHandler(async (_request, reply) =>
    reply.code(404).type(TEXT).send('this port is for proxies: gRPC for Envoy, POST /bootstrap and POST /leave'),
  );
  // A scope of its own, because the server around it answers errors as the REST API does.
  void app.register(async (routes) => {
    countRefusals(routes, connections);
    routes.setErrorHandler(async (error, _request, reply) => {
      const status = statusOf(error);
      if (status >= 500) refusals.warn('failure', { reason: messageOf(error) }, 'the request of a launcher failed');
      const text = status >= 500 ? 'the control plane cannot answer now; try again' : messageOf(error);
      await reply.code(status).type(TEXT).send(text);
    });
    /** @param refused line of the log for an answer that is no success */
    const answer = (path: string, refused: string, make: (request: Asked) => Promise<PortAnswer>): void => {
      routes.post<{ Body: string | undefined }>(path, async ({ body = '', headers, socket }, reply) => {
        const { host = '', accept = '' } = headers;
        const given = await make({ body, host, accept });
        if (given.status >= 400) {
          const reason = given.body || 'the Dataplane does not exist';
          refusals.warn(reason, { peer: peerOf(socket), status: given.status, reason }, refused);
        }
        return reply.code(given.status).type(given.type).send(given.body);
      });
    };
    answer('/bootstrap', 'a proxy got no bootstrap', (request) => answerBootstrap(request, sources));
    answer('/leave', 'a proxy could not say that it leaves', ({ body }) => answerLeave(body, sources));
  });
  return app;
}

/** A request is handled in its permit. What this process cannot answer now is no refusal. */
function countRefusals(routes: FastifyInstance, connections: BootstrapAppOptions['connections']): void {
  routes.decorateRequest('permit', null);
  routes.addHook('onRequest', async (request, reply) => {
    const permit = connections.permitOf(peerOf(request.socket));
    request.permit = permit;
    reply.raw.once('close', () => permit.leave());
  });
  routes.addHook('preHandler', async ({ permit }) => await permit?.take());
  routes.addHook('onSend', async ({ permit }, { statusCode }) => {
    if (statusCode >= 400 && statusCode < 500) permit?.refuse();
    else permit?.giveBack();
  });
}

function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress}:${String(remotePort)}`;
}

function statusOf(error: unknown): number {
  if (error instanceof StatusError || (error instanceof MeridianError && error.code === 'unavailable')) return 503;
  const { statusCode } = error as { statusCode?: number };
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? statusCode : 500;
}
