// `POST /tokens/{user,zone,dataplane}`: the table of src/token as routes (rest-api 5). The answer is the token as plain text.
import type { FastifyInstance } from 'fastify';
import type { TokenRoute } from '../token/token-routes.ts';
import type { ApiContext } from './api-options.ts';
import { ApiError } from './error-body.ts';
import type { RouteConfig } from './http-conventions.ts';
import { SMALL_BODY_BYTES } from './http-server.ts';

const config: RouteConfig = { produces: ['text/plain'], rawBody: true };

export function addTokenPosts(app: FastifyInstance, routes: readonly TokenRoute[], { callers, audit }: ApiContext): void {
  for (const { path, action, answer } of routes) {
    const onRequest = async (request: Parameters<typeof callers.require>[1]): Promise<void> => callers.require(action, request);
    app.post(path, { config, onRequest, bodyLimit: SMALL_BODY_BYTES }, async (request, reply) => {
      const outcome = await answer(typeof request.body === 'string' ? request.body : '');
      if ('code' in outcome) throw new ApiError(outcome.code, outcome.title, outcome.detail, outcome.violations);
      if (outcome.status === 200) audit.issued(request, path);
      reply.header('cache-control', 'no-store');
      return await reply.code(outcome.status).type('text/plain').send(outcome.text);
    });
  }
}
