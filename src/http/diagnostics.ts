// The diagnostics port: liveness, readiness, metrics; no auth (rest-api 1).
import fastify, { type FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { NO_SCHEMAS } from './no-schemas.ts';

export function createDiagnostics({ ready, metrics }: { ready: () => Promise<boolean>; metrics: Registry }): FastifyInstance {
  const app = fastify({ requestTimeout: 30_000, forceCloseConnections: true, schemaController: NO_SCHEMAS });
  app.get('/healthy', async (_request, reply) => reply.code(200).send());
  app.get('/ready', async (_request, reply) => reply.code((await ready()) ? 200 : 503).send());
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.metrics()));
  return app;
}
