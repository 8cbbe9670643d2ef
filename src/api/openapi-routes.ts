// `GET /openapi.json`: the description of this API, made once. Invariant: it contains every route of the server, described or at
// least named.
import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '../resource/types.ts';
import type { ApiContext } from './api-options.ts';
import { openApiDocument, type KnownRoute } from './openapi.ts';

/** The routes that are registered from now on, in order. */
export function collectRoutes(app: FastifyInstance): readonly KnownRoute[] {
  const routes: KnownRoute[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) routes.push({ method: one.toLowerCase(), path: pathOf(url) });
  });
  return routes;
}

export function addOpenApiRoutes(app: FastifyInstance, { options }: ApiContext, routes: readonly KnownRoute[]): void {
  let document: JsonObject | null = null;
  app.get('/openapi.json', async () => (document ??= openApiDocument(options, routes)));
}

/** `/meshes/:mesh/x` → `/meshes/{mesh}/x`. */
function pathOf(url: string): string {
  return url.replaceAll(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}');
}
