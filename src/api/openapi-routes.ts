// `GET /openapi.json`: the description of this API, made once.
import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '../resource/types.ts';
import type { ApiContext } from './api-options.ts';
import { openApiDocument } from './openapi.ts';

export function addOpenApiRoutes(app: FastifyInstance, { options }: ApiContext): void {
  let document: JsonObject | null = null;
  app.get('/openapi.json', async () => (document ??= openApiDocument(options)));
}
