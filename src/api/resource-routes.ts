// List, item, PUT and DELETE of every type that has a path (rest-api 2). Mesh insights are computed elsewhere; only their writes are
// refused here.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { resourceTypes, type TypeInfo } from '../resource/type-registry.ts';
import { accepts } from '../http/accept.ts';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from './api-options.ts';
import { awaitZones, waitOf, whileConnected, type RolloutQuestion } from '../writes/await-zones.ts';
import { etagOf, parseEtag } from '../http/entity-tag.ts';
import { ApiError, badQuery } from '../http/error-body.ts';
import { membershipReceipt } from '../writes/membership-receipt.ts';
import { SMALL_BODY_BYTES } from '../http/http-server.ts';
import { toSystemNamespace } from '../document/kubernetes-form.ts';
import { nextPage, parseFlag, parsePage, queryOf, routePathOf, wantsKubernetes } from '../http/list-query.ts';
import { ListPages } from './list-pages.ts';
import { listRows, rowFilterOf } from './list-rows.ts';
import { toUniversal } from '../document/universal-form.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { WriteCall } from '../writes/resource-service.ts';
import { about, component, PAGE, pageOf, type RouteConfig } from '../http/route-config.ts';
import { insightType, meshType, zoneType } from './route-types.ts';
import { callerWork } from '../http/caller-work.ts';
import { storedAdvice } from '../writes/stored-advice.ts';
import type { Precondition } from '../writes/write-plan.ts';
import { YAML } from '../http/yaml.ts';
import { EVENT_STREAM } from '../http/event-stream.ts';
import { rowOf, rowsOf } from './watch-events.ts';
import type { Watches } from './watch-routes.ts';

type Params = { readonly mesh?: string; readonly name: string };
type ItemRoute = { Params: Params };

/** Types without stored rows: their lists and items are computed (rest-api 3). */
const COMPUTED = new Set(['MeshInsight']);

export function addResourceRoutes(app: FastifyInstance, context: ApiContext, watches: Watches): void {
  const lists = new ListPages(context.store, context.queue);
  for (const info of resourceTypes) {
    for (const path of [info.path, ...info.aliases]) {
      if (path === '') continue;
      if (!COMPUTED.has(info.name)) addReads(app, info, path, context, { watches, lists });
      addWrites(app, info, path, context);
    }
  }
}

type Readers = { readonly watches: Watches; readonly lists: ListPages };

function addReads(app: FastifyInstance, info: TypeInfo, path: string, context: ApiContext, { watches, lists }: Readers): void {
  const { service, store, callers, insights } = context;
  const preHandler = async (request: FastifyRequest): Promise<void> => {
    callers.requireMay(info, request);
    if (info === insightType) insights.requireAll((reason) => new ApiError('conflict', 'Could not retrieve a resource', reason));
  };
  const read = (summary: string, more: Pick<RouteConfig, 'query' | 'answer' | 'produces'>): RouteShorthandOptions => ({
    preHandler,
    ...about(info.plural, summary, { ...more, showsKeys: 'admins' }),
  });
  const filters = info.name === 'Dataplane' ? (['tag', 'gateway'] as const) : [];
  const prefix = info.scope === 'Mesh' ? '/meshes/:mesh' : '';
  for (const place of prefix === '' ? [''] : ['', prefix]) {
    const summary = `${info.plural} of ${place === '' ? 'all meshes' : 'a mesh'}`;
    const query = [...PAGE, ...filters, 'watch'] as const;
    const list = read(summary, { query, answer: pageOf(info.name), produces: [EVENT_STREAM] });
    app.get<{ Params: Partial<Params> }>(`${place}/${path}`, list, async (request, reply) => {
      const { mesh } = request.params;
      const query = queryOf(request);
      const page = parsePage(query);
      const filter = rowFilterOf(info, mesh, query, routePathOf(request));
      const requireMesh = async (): Promise<void> => {
        if (mesh !== undefined) await service.get(meshType, '', mesh, 'Failed to retrieve Mesh');
      };
      if (filter.matches === null && !parseFlag(query, 'watch')) {
        const { between, total } = await lists.page(info, filter.where, page, requireMesh, callerWork(request).caller);
        const [head, tail] = [
          `{\n "total": ${String(total)},\n "items": `,
          `,\n "next": ${JSON.stringify(nextPage(request, page, total))}\n}\n`,
        ];
        return await reply.type('application/json').send(between(head, tail));
      }
      await requireMesh();
      if (parseFlag(query, 'watch')) return watches.follow(request, reply, info, rowsOf(filter));
      const { rows, total } = await listRows(store, filter, page);
      return { total, items: rows.map((row) => toUniversal(info, row)), next: nextPage(request, page, total) };
    });
  }
  const answer = component(info.name);
  const item = read(`One ${info.singular}`, { query: ['format', 'watch'], answer, produces: [EVENT_STREAM, YAML] });
  app.get<ItemRoute>(`${prefix}/${path}/:name`, item, async (request, reply) => {
    const { mesh = '', name } = request.params;
    const query = queryOf(request);
    const inKubernetesForm = wantsKubernetes(query);
    if (parseFlag(query, 'watch')) return watches.follow(request, reply, info, rowOf({ type: info.name, mesh, name }));
    const row = await service.get(info, mesh, name);
    reply.header('etag', etagOf(row));
    const document = inKubernetesForm ? toSystemNamespace(info, row) : toUniversal(info, row);
    if (!accepts(request.headers.accept, YAML, { named: true })) return document;
    return await reply.type(YAML).send(await context.yaml.print(JSON.stringify(document), callerWork(request)));
  });
}

function addWrites(app: FastifyInstance, info: TypeInfo, path: string, context: ApiContext): void {
  const { service, store, callers, audit } = context;
  const url = `${info.scope === 'Mesh' ? '/meshes/:mesh' : ''}/${path}/:name`;
  const mayWrite = async (request: FastifyRequest<ItemRoute>): Promise<void> => {
    const { mesh = '', name } = request.params;
    callers.requireMayWrite(info, { mesh, name }, request);
  };
  // Check before reading the body: its cost is the caller's choice, and a read-only type has no valid body.
  const onRequest = async (request: FastifyRequest<ItemRoute>): Promise<void> => {
    service.requireWritable(info);
    await mayWrite(request);
  };
  const callOf = (request: FastifyRequest): WriteCall => ({
    precondition: preconditionOf(request),
    authorize: (written, at) => callers.requireMayWrite(written, at, request),
    authorizeUse: (mesh, field) => callers.requireMayUse(mesh, field, request),
    by: { user: callers.userOf(request).name },
    work: () => callerWork(request),
  });
  const put = about(info.plural, `Create or replace a ${info.singular}`, {
    query: ['dryRun', 'wait', 'timeout', 'ifMatch', 'ifNoneMatch'],
    body: component(info.name),
    answer: { anyOf: [component('Written'), component('DryRun')] },
    created: component('Written'),
    rawBody: true,
    takesYaml: true,
  });
  app.put<ItemRoute>(url, { onRequest, ...put }, async (request, reply) => {
    const { mesh = '', name } = request.params;
    const text = typeof request.body === 'string' ? request.body : '';
    const waitMs = waitOf(queryOf(request));
    if (parseFlag(queryOf(request), 'dryRun')) {
      const { key: _key, creationTime: _created, ...answer } = await service.dryRun(info, { mesh, name }, text, callOf(request));
      return { dryRun: true, ...answer };
    }
    const zone = info === zoneType ? { type: info.name, mesh, name } : null;
    const before = zone === null ? undefined : await store.get(zone);
    const put = await service.put(info, { mesh, name }, text, callOf(request));
    const { key, result, version, warnings } = put;
    const after = zone === null ? undefined : await store.get(zone);
    if (result !== 'unchanged') audit.write(request, { key, result, version });
    reply.code(result === 'created' ? 201 : 200).header('etag', etagOf(put));
    const awaited = waitMs === 0 ? {} : await rolloutOf(context, { key, version, waitMs }, reply);
    const [advice = []] = await storedAdvice(context.options.adviceOn, [key], waitMs > 0);
    const said = [...warnings, ...advice, ...(awaited.warnings ?? [])];
    const moved = await membershipReceipt(context, before, after, request);
    return { ...awaited, ...(said.length > 0 && { warnings: said }), ...moved };
  });
  const remove = about(info.plural, `Delete a ${info.singular}`, {
    query: ['dryRun', 'wait', 'timeout', 'ifMatch'],
    answer: { anyOf: [component('Written'), component('DeleteDryRun')] },
  });
  app.delete<ItemRoute>(url, { onRequest: mayWrite, ...remove, bodyLimit: SMALL_BODY_BYTES }, async (request, reply) => {
    const { mesh = '', name } = request.params;
    if (parseFlag(queryOf(request), 'dryRun'))
      return { dryRun: true, takes: await service.planDelete(info, mesh, name, callOf(request)) };
    const waitMs = waitOf(queryOf(request));
    const { key, version } = await service.delete(info, mesh, name, callOf(request));
    audit.write(request, { key, result: 'deleted', version });
    return waitMs === 0 ? {} : await rolloutOf(context, { key, version: null, waitMs }, reply);
  });
}

/** The rollout of a stored write. */
async function rolloutOf(
  { options, closing }: ApiContext,
  { key, ...question }: RolloutQuestion & { readonly key: ResourceKey },
  reply: FastifyReply,
): Promise<Pick<Answer<'Written'>, 'rollout' | 'warnings'>> {
  const { followRollout } = options;
  if (followRollout === undefined) return {};
  return await awaitZones(() => followRollout(key, question, whileConnected(reply, closing)));
}

/** `If-Match` and `If-None-Match` (D33). @throws ApiError 400 if the header is not a list of ETags, or not `*` */
export function preconditionOf({ headers }: FastifyRequest): Precondition {
  const absent = headers['if-none-match']?.trim();
  const header = headers['if-match']?.trim();
  if (absent !== undefined) {
    if (absent !== '*' || header !== undefined)
      throw badQuery('If-None-Match', 'must be *, without If-Match: the resource must not exist');
    return 'none';
  }
  if (header === undefined) return null;
  if (header === '*') return 'any';
  return header.split(',').map((text) => {
    const tag = parseEtag(text.trim());
    if (tag === null) throw badQuery('If-Match', 'must be the ETag of an earlier answer, or a version, such as "3"');
    return tag;
  });
}
