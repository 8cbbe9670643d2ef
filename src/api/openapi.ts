// The OpenAPI 3.1 document of this API, made from the type registry: a new type appears in the document by itself. Invariant: every
// route of the server is in it and nothing else; test/api/openapi.test.ts compares them.
import { isServiceType, resourceTypes, type TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import type { ApiOptions } from './api-options.ts';
import { operation, pageParameters, pathParameters, query, responses, type Operation } from './openapi-operations.ts';
import { listOf, openApiSchemas, schemaRef, tokenRequests } from './openapi-schemas.ts';
import { COMPUTED } from './resource-routes.ts';
import { EVENT_STREAM } from './watch-routes.ts';

type Paths = Record<string, JsonObject>;
const object: JsonObject = { type: 'object' };
const WRITE_ERRORS = [403, 404, 405, 409, 413, 415];

/** A route of the server; `method` in lower case, `path` with its parameters in braces. */
export type KnownRoute = { readonly method: string; readonly path: string };

/**
 * @param routes all routes of the server: a route without a description is only named, and a description without a route is left
 * out
 */
export function openApiDocument(
  options: Pick<ApiOptions, 'product' | 'productVersion' | 'specSchema' | 'describedRoutes'>,
  routes: readonly KnownRoute[],
): JsonObject {
  const paths: Paths = {};
  addFixed(paths);
  for (const info of resourceTypes) for (const path of [info.path, ...info.aliases]) if (path !== '') addType(paths, info, path);
  for (const { path, summary, isPaged } of options.describedRoutes ?? [])
    add(paths, 'get', path, {
      ...{ summary, tag: 'Inspect', answers: { 200: object }, errors: [400, 404] },
      parameters: isPaged ? pageParameters : [],
    });
  for (const { method, path } of routes) if (paths[path]?.[method] === undefined) addUnknown(paths, method, path);
  const served = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  return {
    openapi: '3.1.0',
    info: { title: `${options.product} REST API`, version: options.productVersion },
    paths: Object.fromEntries(Object.entries(paths).flatMap(([path, item]) => servedItem(path, item, served))),
    components: { schemas: openApiSchemas(options.specSchema), responses },
  };
}

function add(paths: Paths, method: string, path: string, details: Omit<Operation, 'id'>): void {
  const id = `${method} ${path}`.replaceAll(/[^A-Za-z0-9_]+/g, '_').replace(/_$/, '');
  const parameters = [...pathParameters(path), ...(details.parameters ?? [])];
  paths[path] = { ...paths[path], [method]: operation({ ...details, id, parameters }) };
}

/** The methods of a path that the server has; none, no path. */
function servedItem(path: string, item: JsonObject, served: ReadonlySet<string>): [string, JsonObject][] {
  const methods = Object.entries(item).filter(([method]) => served.has(`${method} ${path}`));
  return methods.length === 0 ? [] : [[path, Object.fromEntries(methods)]];
}

/** Registered elsewhere. */
function addUnknown(paths: Paths, method: string, path: string): void {
  const errors = method === 'get' ? [403, 404, 405] : WRITE_ERRORS;
  const words = path.replaceAll(/[{}/_]+/g, ' ').trim();
  add(paths, method, path, { summary: words, tag: 'Inspect', answers: { 200: object }, media: ['text/plain'], errors });
}

function addFixed(paths: Paths): void {
  const get = (path: string, tag: string, summary: string, answer: JsonObject = object, more: Partial<Operation> = {}): void =>
    add(paths, 'get', path, { summary, tag, answers: { 200: answer }, errors: [403, 404], ...more });
  get('/', 'Control plane', 'What this control plane is');
  get('/config', 'Control plane', 'Its configuration without secrets');
  get('/who-am-i', 'Control plane', 'Who the caller is');
  get('/policies', 'Control plane', 'Types of policies');
  get('/_resources', 'Control plane', 'Types of resources');
  get('/openapi.json', 'Control plane', 'This document');
  for (const path of ['/gui', '/gui/{path}'])
    get(path, 'Control plane', 'A page that says that there is no GUI', { type: 'string' }, { media: ['text/html'] });
  get('/_kri/{kri}', 'Resources', 'One resource by its KRI', object, { parameters: [query.format] });
  add(paths, 'post', '/_apply', {
    summary: 'Many resources in one transaction, all or nothing',
    tag: 'Resources',
    parameters: [query.dryRun],
    requestBody: { type: 'array', items: object },
    answers: { 200: schemaRef('Applied') },
    errors: WRITE_ERRORS,
  });
  const text = { type: 'string' };
  add(paths, 'post', '/zones/{name}/_adopt', {
    summary: 'Accept another store for a zone: the one given, or the one that was refused last',
    tag: 'Control plane',
    requestBody: { type: 'object', properties: { storeId: text, forget: { type: 'boolean' } }, additionalProperties: false },
    answers: { 200: { type: 'object', properties: { zone: text, storeId: text, before: text } } },
    errors: WRITE_ERRORS,
  });
  add(paths, 'post', '/_accept-global', {
    summary: 'Accept another global for this zone: the one given, or the one that was refused last',
    tag: 'Control plane',
    requestBody: { type: 'object', properties: { clusterId: text }, additionalProperties: false },
    answers: { 200: { type: 'object', properties: { clusterId: text, before: text } } },
    errors: WRITE_ERRORS,
  });
  for (const [kind, schema] of Object.entries(tokenRequests))
    add(paths, 'post', `/tokens/${kind}`, {
      ...{ summary: `A token for a ${kind}`, tag: 'Tokens', requestBody: schema, answers: { 200: { type: 'string' } } },
      ...{ media: ['text/plain'], errors: WRITE_ERRORS },
    });
  for (const path of ['/zones/_overview', '/zones+insights'])
    get(path, 'Insights', 'Zones with their connections', listOf(schemaRef('ZoneOverview')), { parameters: pageParameters });
  for (const path of ['/zones/{name}/_overview', '/zones+insights/{name}'])
    get(path, 'Insights', 'A zone with its connections', schemaRef('ZoneOverview'));
  const filters = [...pageParameters, query.tag, query.gateway];
  for (const prefix of ['', '/meshes/{mesh}'])
    for (const path of [`${prefix}/dataplanes/_overview`, `${prefix}/dataplanes+insights`])
      get(path, 'Insights', 'Dataplanes with their connections', listOf(schemaRef('DataplaneOverview')), { parameters: filters });
  for (const path of ['/meshes/{mesh}/dataplanes/{name}/_overview', '/meshes/{mesh}/dataplanes+insights/{name}'])
    get(path, 'Insights', 'A Dataplane with its connections', schemaRef('DataplaneOverview'));
  get('/mesh-insights', 'Insights', 'Summaries of the meshes', listOf(schemaRef('MeshInsight')), { parameters: pageParameters });
  get('/mesh-insights/{name}', 'Insights', 'The summary of a mesh', schemaRef('MeshInsight'));
  get('/global-insight', 'Insights', 'The summary of everything');
  get('/global-insights', 'Insights', 'How many there are of the Global types');
  get('/meshes/{mesh}/dataplanes/{name}/_config', 'Inspect', 'The configuration of a proxy; 405 on a global', object, {
    errors: [403, 404, 405],
  });
  for (const kind of ['xds', 'stats', 'clusters'])
    get(`/meshes/{mesh}/dataplanes/{name}/${kind}`, 'Inspect', `What the proxy says: ${kind}`, object, { media: ['text/plain'] });
}

function addType(paths: Paths, info: TypeInfo, path: string): void {
  const tag = info.plural;
  const prefix = info.scope === 'Mesh' ? '/meshes/{mesh}' : '';
  const item = `${prefix}/${path}/{name}`;
  const schema = schemaRef(info.name);
  if (!COMPUTED.has(info.name)) {
    const filters = info.name === 'Dataplane' ? [query.tag, query.gateway] : [];
    const reads = { tag, media: [EVENT_STREAM], errors: [403, 404] };
    const parameters = [...pageParameters, ...filters, query.watch];
    add(paths, 'get', `/${path}`, {
      ...reads,
      summary: `${info.plural} of all meshes`,
      parameters,
      answers: { 200: listOf(schema) },
    });
    if (prefix !== '')
      add(paths, 'get', `${prefix}/${path}`, {
        ...reads,
        summary: `${info.plural} of a mesh`,
        parameters,
        answers: { 200: listOf(schema) },
      });
    const one = { summary: `One ${info.singular}`, parameters: [query.format, query.watch], answers: { 200: schema } };
    add(paths, 'get', item, { ...reads, ...one });
  }
  add(paths, 'put', item, {
    summary: `Create or replace a ${info.singular}`,
    tag,
    parameters: [query.dryRun, query.ifMatch],
    requestBody: schema,
    answers: { 200: { anyOf: [schemaRef('Written'), schemaRef('DryRun')] }, 201: schemaRef('Written') },
    errors: WRITE_ERRORS,
  });
  const remove = { summary: `Delete a ${info.singular}`, tag, parameters: [query.ifMatch], answers: { 200: object } };
  add(paths, 'delete', item, { ...remove, errors: WRITE_ERRORS });
  if (!isServiceType(info.name)) return;
  const summary = 'Host names of the service, by zone';
  add(paths, 'get', `${item}/_hostnames`, { summary, tag, answers: { 200: object }, errors: [404] });
}
