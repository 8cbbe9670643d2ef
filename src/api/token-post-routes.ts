// `POST /tokens/{user,zone,dataplane}`: the table of src/token as routes (rest-api 5). The answer is the token as plain text.
import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '../resource/types.ts';
import type { TokenKind } from '../token/token-realm.ts';
import { PROXY_TYPES, ZONE_SCOPES } from '../token/token-request.ts';
import type { TokenRoute } from '../token/token-routes.ts';
import type { ApiContext } from './api-options.ts';
import { ApiError } from '../http/error-body.ts';
import { SMALL_BODY_BYTES } from '../http/http-server.ts';
import { about, type RouteConfig } from '../http/route-config.ts';

const text: JsonObject = { type: 'string' };
const validFor: JsonObject = { type: 'string', description: 'a Go duration such as 24h0m0s' };
const texts: JsonObject = { type: ['array', 'null'], items: text };
const BODIES: Readonly<Record<TokenKind, JsonObject>> = {
  user: { type: 'object', required: ['name', 'validFor'], properties: { name: text, groups: texts, validFor } },
  zone: {
    type: 'object',
    required: ['zone'],
    properties: { zone: text, scope: { ...texts, items: { enum: [...ZONE_SCOPES] } }, validFor },
  },
  dataplane: {
    type: 'object',
    required: ['mesh'],
    properties: {
      name: text,
      mesh: text,
      tags: { type: 'object' },
      type: { enum: ['', ...PROXY_TYPES] },
      workload: text,
      validFor,
    },
  },
};

export function addTokenPosts(app: FastifyInstance, routes: readonly TokenRoute[], { callers, audit }: ApiContext): void {
  for (const { kind, path, action, answer } of routes) {
    const more: Partial<RouteConfig> = { body: BODIES[kind], answer: text, produces: ['text/plain'], rawBody: true };
    const onRequest = async (request: Parameters<typeof callers.require>[1]): Promise<void> => callers.require(action, request);
    app.post(
      path,
      { ...about('Tokens', `A token for a ${kind}`, more), onRequest, bodyLimit: SMALL_BODY_BYTES },
      async (request, reply) => {
        const outcome = await answer(typeof request.body === 'string' ? request.body : '');
        if ('code' in outcome) throw new ApiError(outcome.code, outcome.title, outcome.detail, outcome.violations);
        if (outcome.status === 200) audit.issued(request, path);
        reply.header('cache-control', 'no-store');
        return await reply.code(outcome.status).type('text/plain').send(outcome.text);
      },
    );
  }
}
