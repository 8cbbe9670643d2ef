// `GET …/{name}/_history`: the versions of a resource. `GET …/_history/{version}`: one of them, with its document and its difference.
// `POST …/{name}/_rollback`: writes a version again. `GET /_history`: the versions of all resources as JSON lines.
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MeridianError } from '../base/errors.ts';
import type { Steps } from '../base/steps.ts';
import { withoutKeys } from '../base/hidden-keys.ts';
import { isLocal } from '../resource/ownership.ts';
import { objectOf } from '../resource/read-json.ts';
import { resourceTypes, typeOf, type TypeInfo } from '../resource/type-registry.ts';
import { describeKey, type Resource, type ResourceKey } from '../resource/types.ts';
import type { ResourceVersion } from '../store/history-store.ts';
import { isAllowed } from '../http/access.ts';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from './api-options.ts';
import { etagOf } from '../http/entity-tag.ts';
import { ApiError, badQuery, missingResource } from '../http/error-body.ts';
import { exportedVersion, versionAnswer, versionSummary } from './history-answers.ts';
import { SMALL_BODY_BYTES } from '../http/http-server.ts';
import { parseFlag, parsePage, queryOf } from '../http/list-query.ts';
import { preconditionOf } from './resource-routes.ts';
import { rollBack } from './rollback.ts';
import { about, component } from '../http/route-config.ts';
import { callerWork, type CallerWork } from '../http/caller-work.ts';
import { homeOf } from '../writes/write-plan.ts';

const JSON_LINES = 'application/x-ndjson';
const MAX_LISTED = 100;
/** The number of versions that are read at a time: each may be as large as a resource. */
const READ_SIZE = 20;

const list = about('History', 'Versions of a resource, the newest first: who wrote what, and when', {
  query: ['size', 'before'],
  answer: component('History'),
});
const one = about('History', 'One version: its document, and its difference to the version before it or to `from`', {
  query: ['from'],
  answer: component('Version'),
});
const rollback = about('History', 'Write an earlier version again, with the checks of a PUT', {
  query: ['dryRun', 'ifMatch'],
  body: { type: 'object', required: ['to'], properties: { to: { type: 'integer', minimum: 0 } } },
  answer: component('RolledBack'),
  created: component('RolledBack'),
});
const all = about('History', 'The versions of all resources in the order of their writes, as JSON lines', {
  query: ['after'],
  answer: { type: 'object', description: 'one JSON object in each line' },
  produces: [JSON_LINES],
});

type ItemRoute = { Params: { readonly mesh?: string; readonly name: string } };
type VersionRoute = { Params: ItemRoute['Params'] & { readonly version: string } };

export function addHistoryRoutes(app: FastifyInstance, context: ApiContext): void {
  for (const info of resourceTypes) {
    if (info.isInsight) continue;
    for (const path of [info.path, ...info.aliases])
      if (path !== '') addRoutesOf(app, info, `${info.scope === 'Mesh' ? '/meshes/:mesh' : ''}/${path}/:name`, context);
  }
  addExport(app, context);
}

function addRoutesOf(app: FastifyInstance, info: TypeInfo, url: string, context: ApiContext): void {
  const { callers, service, store, audit, queue } = context;
  const preHandler = async (request: FastifyRequest): Promise<void> => callers.requireMay(info, request);
  app.get<ItemRoute>(`${url}/_history`, { preHandler, ...list }, async (request): Promise<Answer<'History'>> => {
    const key = keyOf(info, request.params);
    const query = queryOf(request);
    const { size } = parsePage(query);
    const page = { size: Math.min(size, MAX_LISTED), before: wholeNumber(query, 'before') };
    return await historyOf(info, key, page, context, callerWork(request));
  });
  app.get<VersionRoute>(`${url}/_history/:version`, { preHandler, ...one }, async (request): Promise<Answer<'Version'>> => {
    const key = keyOf(info, request.params);
    const wanted = await requireVersion(store, key, request.params.version);
    const from = queryOf(request).get('from') ?? '';
    const [before] = from === '' ? await store.versions({ key, before: wanted.version, limit: 1 }) : [];
    const other = from === '' ? before : await requireVersion(store, key, from, 'from');
    const { caller, left } = callerWork(request);
    return await queue.run(caller, versionAnswer(info, wanted, other), left);
  });
  const onRequest = async (request: FastifyRequest<ItemRoute>): Promise<void> => {
    service.requireWritable(info);
    callers.requireMayWrite(info, keyOf(info, request.params), request);
  };
  const taken = { onRequest, bodyLimit: SMALL_BODY_BYTES, ...rollback };
  app.post<ItemRoute>(`${url}/_rollback`, taken, async (request, reply): Promise<Answer<'RolledBack'>> => {
    const key = keyOf(info, request.params);
    const version = await requireVersion(store, key, String(wantedOf(request.body)), 'to');
    const dryRun = parseFlag(queryOf(request), 'dryRun');
    const done = await rollBack(info, version, service, {
      dryRun,
      precondition: preconditionOf(request),
      authorize: (written, at) => callers.requireMayWrite(written, at, request),
      authorizeUse: (mesh, field) => callers.requireMayUse(mesh, field, request),
      by: { user: callers.userOf(request).name, restores: version.version },
      work: () => callerWork(request),
    });
    const { key: written, creationTime: _created, warnings, ...answer } = done;
    if (!dryRun && done.result !== 'unchanged') audit.write(request, { ...done, result: done.result, key: written });
    if (!dryRun) reply.code(done.result === 'created' ? 201 : 200).header('etag', etagOf(done));
    return { dryRun, restored: version.version, ...answer, ...(warnings.length > 0 && { warnings }) };
  });
}

async function historyOf(
  info: TypeInfo,
  key: ResourceKey,
  { size, before }: { readonly size: number; readonly before: number | null },
  { store, queue, options: { mode } }: ApiContext,
  { caller, left }: CallerWork,
): Promise<Answer<'History'>> {
  // Read the row before the versions: after a write in between, the ETag is another one.
  const row = await store.get(key);
  const items: Answer<'VersionSummary'>[] = [];
  let next: ResourceVersion | undefined;
  for (let below = before ?? undefined; ; below = next?.version) {
    const read = await store.versions({ key, before: below, limit: Math.min(READ_SIZE, size - items.length) + 1 });
    const isLast = read.length <= Math.min(READ_SIZE, size - items.length);
    const shown = isLast ? read : read.slice(0, -1);
    items.push(...(await queue.run(caller, summariesOf(info, shown, read), left)));
    next = shown.at(-1);
    if (isLast) return await withRow(info, key, row, { items, next: null }, { store, mode });
    if (items.length >= size) return await withRow(info, key, row, { items, next: next?.version ?? null }, { store, mode });
  }
}

/** @param read the shown versions, and the one before them */
function* summariesOf(
  info: TypeInfo,
  shown: readonly ResourceVersion[],
  read: readonly ResourceVersion[],
): Steps<Answer<'VersionSummary'>[]> {
  const summaries: Answer<'VersionSummary'>[] = [];
  for (const [index, version] of shown.entries()) {
    summaries.push(yield* versionSummary(info, version, read[index + 1]));
    yield;
  }
  return summaries;
}

/** @throws ApiError 404 for a resource that does not exist and has no history */
async function withRow(
  info: TypeInfo,
  key: ResourceKey,
  row: Resource | undefined,
  answer: Pick<Answer<'History'>, 'items' | 'next'>,
  { store, mode }: Pick<ApiContext, 'store'> & Pick<ApiContext['options'], 'mode'>,
): Promise<Answer<'History'>> {
  if (row === undefined && answer.items.length === 0 && (await store.versionNumbers(key)).length === 0) {
    throw missingResource(key, 'Could not retrieve a history', `${describeKey(key)}, nor versions of it`);
  }
  const home = row === undefined || isLocal(row, mode) ? null : homeOf(row, mode);
  return {
    exists: row !== undefined,
    ...(row !== undefined && { etag: etagOf(row) }),
    ...(home !== null && { home }),
    ...answer,
  };
}

/** @throws ApiError 404 that lists the kept versions, or 400 */
async function requireVersion(
  store: ApiContext['store'],
  key: ResourceKey,
  text: string,
  field = 'version',
): Promise<ResourceVersion> {
  if (!/^\d{1,9}$/.test(text)) throw badQuery(field, 'must be the number of a version');
  const [found] = await store.versions({ key, before: Number(text) + 1, limit: 1 });
  if (found?.version === Number(text)) return found;
  const kept = await store.versionNumbers(key);
  const which = kept.length === 0 ? 'no version of it is kept' : `kept are ${kept.toReversed().join(', ')}`;
  throw new ApiError('not_found', 'Could not retrieve a version', `Not found: version ${text} of ${describeKey(key)}: ${which}`);
}

/** @throws ApiError 400 */
function wantedOf(body: unknown): number {
  const { to } = objectOf(body);
  if (typeof to === 'number' && Number.isInteger(to) && to >= 0) return to;
  throw badQuery('to', 'must be the number of a version, such as {"to": 3}; GET …/_history lists them');
}

function addExport(app: FastifyInstance, { callers, store }: ApiContext): void {
  app.get('/_history', all, async (request, reply) => {
    const after = wholeNumber(queryOf(request), 'after') ?? 0;
    // A running transaction may commit versions with smaller ids later. The next export has them.
    const upTo = await store.settledVersion().catch(waitedInVain);
    // The history may also hold types of another program that wrote this database.
    const shown = resourceTypes.filter((info) => isAllowed(() => callers.requireMay(info, request))).map(({ name }) => name);
    const lines = async function* (): AsyncGenerator<string> {
      for (let id = after; ;) {
        // The next page is read when the caller has taken this one.
        const page = await store.versionsAfter({ after: id, upTo, limit: READ_SIZE, types: shown });
        if (page.length === 0) return;
        // A line is one write of the answer: a version may be large, and others run between two writes.
        for (const version of page) yield withoutKeys(`${JSON.stringify(exportedVersion(typeOf(version.type), version))}\n`);
        id = page.at(-1)?.id ?? id;
      }
    };
    return await reply.type(JSON_LINES).send(Readable.from(lines(), { objectMode: false }));
  });
}

/** Tells the caller the process id of the transaction that has written versions and stays open. @throws ApiError 503 */
function waitedInVain(error: unknown): never {
  if (!(error instanceof MeridianError) || error.code !== 'conflict') throw error;
  throw new ApiError('unavailable', 'Service unavailable', error.message);
}

function keyOf(info: TypeInfo, { mesh = '', name }: ItemRoute['Params']): ResourceKey {
  return { type: info.name, mesh, name };
}

/** Returns null if it is not given. @throws ApiError 400 */
function wholeNumber(query: URLSearchParams, field: string): number | null {
  const given = query.get(field) ?? '';
  if (given === '') return null;
  if (!/^\d{1,15}$/.test(given)) throw badQuery(field, 'must be a whole number from 0');
  return Number(given);
}
