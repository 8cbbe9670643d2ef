// The REST API of a control plane: routes, and what all of them share (rest-api 1, 2). The work is in the rooms beside it.
import { hostname } from 'node:os';
import { isIP } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { resourceTypes, typeOf, type TypeInfo } from '../resource/type-registry.ts';
import type { Json, Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { ApiError, errorBody } from './error-body.ts';
import { measureRequests } from './http-metrics.ts';
import { nextPage, parsePageQuery } from './list-query.ts';
import { addProxyAdminRoutes, type ProxyAdmin } from './proxy-admin-routes.ts';
import { bodyOf, metaOf } from './resource-body.ts';
import { ResourceService, type ServiceOptions } from './resource-service.ts';

export type ApiOptions = {
  readonly store: ResourceStore;
  readonly mode: 'global' | 'zone';
  /** Own name of a zone. */
  readonly zone: string | null;
  /** A zone that has a global. */
  readonly federated: boolean;
  readonly product: string;
  readonly productVersion: string;
  readonly instanceId: string;
  readonly clusterId: () => Promise<string>;
  readonly readOnly: boolean;
  /** The configuration without secrets, for `/config`. */
  readonly config: unknown;
  readonly metrics: Registry;
  readonly log: Logger;
  readonly proxyAdmin: ProxyAdmin;
  /** What is written together with a new Mesh. */
  readonly meshDefaults: ServiceOptions['meshDefaults'];
};

type ItemRoute = { Params: { mesh?: string; name: string } };

/** One item's body is at most this (decisions D32). */
const MAX_BODY_BYTES = 1024 * 1024;

export function createApi(options: ApiOptions): FastifyInstance {
  const { store, log } = options;
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    routerOptions: {
      maxParamLength: 1024,
      ignoreTrailingSlash: true,
      querystringParser: (text) => Object.fromEntries(new URLSearchParams(text)),
    },
    requestTimeout: 30_000,
    connectionTimeout: 60_000,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
  });
  measureRequests(app, options.metrics);
  app.setReplySerializer((payload) => `${JSON.stringify(payload, null, 1)}\n`);
  app.addHook('onSend', async (_request, reply, payload) => {
    if (typeof payload === 'string' && payload.startsWith('{')) reply.header('content-type', 'application/json');
    return payload;
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, log));
  app.setNotFoundHandler(async (request, reply) => {
    const allowed = (['GET', 'PUT', 'DELETE'] as const).filter(
      (method) => app.findRoute({ method, url: routeOf(request.url) }) !== null,
    );
    await reply
      .type('text/plain')
      .code(allowed.length > 0 ? 405 : 404)
      .headers(allowed.length > 0 ? { allow: allowed.join(', ') } : {})
      .send(allowed.length > 0 ? '405: Method Not Allowed' : '404: Page Not Found');
  });

  const service = new ResourceService({
    store,
    writer: { mode: options.mode, zone: options.zone, federated: options.federated },
    readOnly: options.readOnly,
    meshDefaults: options.meshDefaults,
  });
  addIndexRoutes(app, options);
  addZoneOverviews(app, store);
  addProxyAdminRoutes(app, (mesh, name) => service.get(dataplaneType, mesh, name), options.proxyAdmin);
  for (const info of resourceTypes)
    for (const path of [info.path, ...info.aliases]) if (path !== '') addResourceRoutes(app, info, path, store, service);
  return app;
}

function addResourceRoutes(
  app: FastifyInstance,
  info: TypeInfo,
  path: string,
  store: ResourceStore,
  service: ResourceService,
): void {
  const guard = { preHandler: async (request: FastifyRequest) => requireAdmin(info, request) };
  const list = async (request: FastifyRequest): Promise<unknown> => {
    const { mesh } = request.params as { mesh?: string };
    const query = new URL(request.url, 'http://localhost').searchParams;
    const page = parsePageQuery(query);
    const filter = {
      type: info.name,
      ...(mesh !== undefined && { mesh }),
      ...(page.name !== undefined && { nameContains: page.name }),
      ...(Object.keys(page.labels).length > 0 && { labels: page.labels }),
    };
    if (mesh !== undefined) await service.get(meshType, '', mesh, 'Failed to retrieve Mesh');
    const [rows, total] = await Promise.all([
      store.list({ ...filter, limit: page.size, offset: page.offset }),
      store.count(filter),
    ]);
    return {
      total,
      items: rows.map((row) => bodyOf(info, row)),
      next: nextPage(`${request.protocol}://${request.host}`, request.url.split('?')[0] ?? '', query, page, total),
    };
  };
  const item = `/${path}/:name`;
  const prefix = info.scope === 'Mesh' ? '/meshes/:mesh' : '';
  app.get(`/${path}`, guard, list);
  if (prefix !== '') app.get(`${prefix}/${path}`, guard, list);
  app.get<ItemRoute>(prefix + item, guard, async (request) =>
    bodyOf(info, await service.get(info, meshOf(request), request.params.name)),
  );
  app.put<ItemRoute>(prefix + item, guard, async (request, reply) => {
    if (!/^application\/json(;|$)/.test(request.headers['content-type'] ?? ''))
      return reply.code(415).type('text/plain').send('415: Unsupported Media Type');
    const result = await service.put(info, meshOf(request), request.params.name, request.body);
    return reply.code(result === 'created' ? 201 : 200).send({});
  });
  app.delete<ItemRoute>(prefix + item, guard, async (request) => {
    await service.delete(info, meshOf(request), request.params.name);
    return {};
  });
}

function addIndexRoutes(app: FastifyInstance, options: ApiOptions): void {
  app.get('/', async () => ({
    hostname: hostname(),
    product: options.product,
    version: options.productVersion,
    instanceId: options.instanceId,
    clusterId: await options.clusterId(),
    gui: '',
    mode: options.mode,
    ...(options.zone !== null && { zone: options.zone }),
  }));
  app.get('/config', async () => options.config);
  app.get('/_resources', async () => ({
    resources: resourceTypes
      .filter(({ path }) => path !== '')
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((info) => ({
        name: info.name,
        scope: info.scope,
        readOnly: options.federated || info.writers === 'none',
        path: info.path,
        singularDisplayName: info.singular,
        pluralDisplayName: info.plural,
        shortName: info.shortName ?? '',
        includeInFederation: info.kds.globalToZone && !info.isInsight,
        ...(info.policy !== null && {
          policy: {
            isTargetRef: true,
            hasToTargetRef: info.policy.to,
            hasRulesTargetRef: info.policy.rules,
            hasFromTargetRef: false,
            isFromAsRules: false,
          },
        }),
      })),
  }));
}

function addZoneOverviews(app: FastifyInstance, store: ResourceStore): void {
  const overview = async (zones: readonly Resource[]): Promise<Json[]> => {
    const insights = await store.getMany(zones.map(({ name }) => ({ type: 'ZoneInsight', mesh: '', name })));
    const byName = new Map(insights.map((row) => [row.name, row]));
    return zones.map((zone) => {
      const insight = byName.get(zone.name);
      const seen = insight === undefined ? {} : { zoneInsight: insight.spec, ...insight.status };
      return { ...metaOf(zoneType, zone, 'ZoneOverview'), zone: zone.spec, ...seen };
    });
  };
  app.get('/zones/_overview', async (request) => {
    const query = new URL(request.url, 'http://localhost').searchParams;
    const page = parsePageQuery(query);
    const filter = {
      type: 'Zone',
      ...(page.name !== undefined && { nameContains: page.name }),
      ...(Object.keys(page.labels).length > 0 && { labels: page.labels }),
    };
    const [rows, total] = await Promise.all([
      store.list({ ...filter, limit: page.size, offset: page.offset }),
      store.count(filter),
    ]);
    return {
      total,
      items: await overview(rows),
      next: nextPage(`${request.protocol}://${request.host}`, '/zones/_overview', query, page, total),
    };
  });
  app.get<ItemRoute>('/zones/:name/_overview', async (request) => {
    const row = await store.get({ type: 'Zone', mesh: '', name: request.params.name });
    if (row === undefined) throw new ApiError('not_found', 'Could not retrieve a resource', 'Not found');
    return (await overview([row]))[0];
  });
}

/** Until there are tokens only the machine itself sees secrets (rest-api 5, localhost is admin). */
async function requireAdmin(info: TypeInfo, request: FastifyRequest): Promise<void> {
  if (!info.adminOnly) return;
  const forwarded = ['forwarded', 'x-forwarded-for', 'x-real-ip'].some((name) => request.headers[name] !== undefined);
  const host = request.hostname.replace(/^\[|\]$/g, '');
  const isLocalHost = host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
  if (isLoopback(request.socket.remoteAddress ?? '') && !forwarded && isLocalHost) return;
  throw new ApiError(
    'forbidden',
    'Access Denied',
    `${info.name} can be read and written from the machine of the control plane alone`,
  );
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
}

async function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Logger): Promise<void> {
  if ((error as { statusCode?: unknown }).statusCode === 415) {
    await reply.code(415).type('text/plain').send('415: Unsupported Media Type');
    return;
  }
  const known = fastifyFailure(error);
  const body = errorBody(known);
  // A database that is away is told of once, by who follows it.
  if (body.status === 503) log.debug({ reason: messageOf(error), method: request.method, url: request.url }, 'a request failed');
  else if (body.status >= 500) log.error({ err: error, method: request.method, url: request.url }, 'a request failed');
  await reply.code(body.status).send(body);
}

/** Failures that fastify finds before a handler runs, as errors of the catalogue. */
function fastifyFailure(error: unknown): unknown {
  if (error instanceof MeridianError || !(error instanceof Error)) return error;
  const { statusCode } = error as Error & { statusCode?: number };
  if (statusCode === 413) return new MeridianError('too_large', `the body is larger than ${String(MAX_BODY_BYTES)} bytes`);
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return new MeridianError('bad_request', error.message);
  return error;
}

/** The path without its query. */
function routeOf(url: string): string {
  return url.split('?')[0] ?? url;
}

function meshOf(request: FastifyRequest<ItemRoute>): string {
  return request.params.mesh ?? '';
}

const meshType = typeOf('Mesh');
const dataplaneType = typeOf('Dataplane');
const zoneType = typeOf('Zone');
