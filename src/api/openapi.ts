// `GET /openapi.json`: the OpenAPI 3.1 document, made once from the registered routes, which declare themselves (`RouteConfig`), and
// from the registry of types. Invariant: every route of the server is in it and nothing else.
import type { FastifyInstance, RouteOptions } from 'fastify';
import { z } from 'zod';
import { YAML } from '../http/yaml.ts';
import { universalSchema } from '../document/universal-schema.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { answerSchemas } from '../answers/answers.ts';
import type { ApiOptions } from './api-options.ts';
import { about, component, parameters, type RouteConfig } from '../http/route-config.ts';

const text: JsonObject = { type: 'string' };
const object: JsonObject = { type: 'object' };

/** The status codes that every route can answer. */
const ALWAYS = [400, 401, 406, 429, 500, 503];
const READ_ERRORS = [403, 404];
const WRITE_ERRORS = [403, 404, 405, 409, 413, 415];
/** The status codes with a plain-text body. */
const PLAIN = new Set([406, 415]);

type DeclaredRoute = Pick<RouteOptions, 'method' | 'url' | 'config'>;

/** Collects the routes that are registered after this call. @throws Error at the registration of an undeclared route */
export function collectRoutes(app: FastifyInstance): readonly DeclaredRoute[] {
  const routes: DeclaredRoute[] = [];
  app.addHook('onRoute', ({ method, url, config }: RouteOptions) => {
    if (config?.summary === undefined) throw new Error(`the route ${String(method)} ${url} does not declare itself`);
    routes.push({ method, url, config });
  });
  return routes;
}

export function addOpenApiRoute(
  app: FastifyInstance,
  { product, productVersion }: Pick<ApiOptions, 'product' | 'productVersion'>,
  routes: readonly DeclaredRoute[],
): void {
  let document: JsonObject | null = null;
  app.get('/openapi.json', about('Control plane', 'This document'), async () => {
    return (document ??= {
      openapi: '3.1.0',
      info: { title: `${product} REST API`, version: productVersion },
      paths: pathsOf(routes),
      components: { schemas: schemas(), responses },
    });
  });
}

function pathsOf(routes: readonly DeclaredRoute[]): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const { method, url, config } of routes) {
    const path = url.replaceAll(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}');
    for (const one of [method].flat())
      paths[path] = { ...paths[path], [one.toLowerCase()]: operation(one, path, config as RouteConfig) };
  }
  return paths;
}

function operation(method: string, path: string, config: RouteConfig): JsonObject {
  const {
    summary,
    tag,
    query = [],
    body,
    answer = object,
    created,
    produces = [],
    takesYaml = false,
    unchanged = false,
  } = config;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({ name, in: 'path', required: true, schema: text }));
  const all = [...inPath, ...query.map((name) => parameters[name])];
  const content = (schema: JsonObject): JsonObject => ({
    'application/json': { schema },
    ...Object.fromEntries(produces.map((type) => [type, { schema: text }])),
  });
  const failures = [...ALWAYS, ...(method === 'GET' ? READ_ERRORS : WRITE_ERRORS)];
  return {
    operationId: `${method.toLowerCase()} ${path}`.replaceAll(/[^A-Za-z0-9_]+/g, '_').replace(/_$/, ''),
    summary,
    tags: [tag],
    ...(all.length > 0 && { parameters: all }),
    ...(body !== undefined && { requestBody: { required: true, content: contentOf(body, takesYaml) } }),
    responses: {
      200: { description: 'as asked', content: content(answer) },
      ...(created !== undefined && { 201: { description: 'created', content: content(created) } }),
      ...(unchanged && { 304: { description: 'as the caller has it' } }),
      ...Object.fromEntries(
        failures.map((status) => [status, { $ref: `#/components/responses/${PLAIN.has(status) ? 'Text' : 'Error'}` }]),
      ),
    },
  };
}

function contentOf(schema: JsonObject, takesYaml: boolean): JsonObject {
  return { 'application/json': { schema }, ...(takesYaml && { [YAML]: { schema } }) };
}

const responses: JsonObject = {
  Error: {
    description: 'the violations, by field',
    content: { 'application/json': { schema: component('Error') }, 'application/problem+json': { schema: component('Error') } },
  },
  Text: { description: 'one line of text', content: { 'text/plain': { schema: text } } },
};

function schemas(): JsonObject {
  const types = resourceTypes.filter(({ path }) => path !== '').map((info) => [info.name, universalSchema(info)]);
  const answers = Object.entries(answerSchemas).map(([name, answer]) => {
    const { $schema: _dialect, ...schema } = z.toJSONSchema(answer, { io: 'input' });
    return [name, schema];
  });
  return Object.fromEntries([...types, ...answers]) as JsonObject;
}
