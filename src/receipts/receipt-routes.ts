// `GET …/{name}/_rollout`: the peers that have the newest change of a resource. `GET /_changes`: the last changes, and the peers
// that have each of them.
import type { FastifyInstance } from 'fastify';
import { permitted } from '../http/access.ts';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { waitOf, whileConnected, type FollowRollout } from '../writes/await-zones.ts';
import { ApiError, badQuery, missingResource } from '../http/error-body.ts';
import { parsePage, queryOf } from '../http/list-query.ts';
import { about, component } from '../http/route-config.ts';
import type { Clock } from '../base/clock.ts';
import { NO_GLOBAL } from '../kds/client/global-link.ts';
import type { SendRules } from '../kds/protocol/rules.ts';
import { resourceTypes, typeOf } from '../resource/type-registry.ts';
import { describeKey, type ResourceKey } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { Change } from './kept-change.ts';
import { MAX_CHANGES } from './recent-changes.ts';
import { exclusionOfRow, exclusionOfType } from './exclusion-reason.ts';
import { MAX_ASKED, type OnwardQuestions } from './onward-questions.ts';
import { GLOBAL, type Receipts, type Target } from './receipts.ts';
import { changeSummary, rolloutOf, withOnward, type Onward } from './rollout.ts';

const item = about('Inspect', 'The zones that have the newest change of the resource, and why others have not', {
  query: ['version', 'wait', 'timeout'],
  answer: component('Rollout'),
});
const list = about('Inspect', 'The last changes that were sent to zones, the newest first, since the start of this replica', {
  query: ['size', 'before'],
  answer: {
    type: 'object',
    required: ['items', 'next'],
    properties: {
      items: { type: 'array', items: component('ChangeSummary') },
      note: { type: 'string', description: 'why nothing is sent' },
    },
  },
});
const many = about('Inspect', 'In a zone: how many other zones have each of several changes, in one question to global', {
  query: ['ids'],
  answer: {
    type: 'object',
    required: ['items'],
    properties: { items: { type: 'array', items: component('OnwardSummary') } },
  },
});
const one = about('Inspect', 'One of the last changes, with each zone', { answer: component('Rollout') });

/** Asks global about the other zones, for a zone. */
export type OnwardFollower = {
  readonly clock: Clock;
  readonly of: OnwardQuestions['of'];
  readonly ofMany: OnwardQuestions['ofMany'];
};

type OnwardSummary = Answer<'OnwardSummary'>;

/** The limit of changes × peers of one answer: with many zones a page has fewer changes. */
const MAX_TARGETS = 1_000_000;

/** The option `followRollout` of a zone without a global. Such a zone sends nothing, so the answer does not wait. */
export const followNothing: FollowRollout = async (key) =>
  rolloutOf(key, { change: null, isLogged: false, targets: [] }, NO_GLOBAL);

/** Makes the option `followRollout` of the API. @param onward null on global */
export function rolloutFollower(
  receipts: Receipts,
  rules: SendRules,
  store: Pick<ResourceStore, 'get'>,
  onward: OnwardFollower | null = null,
): FollowRollout {
  return async (key, question, signal) => {
    const began = onward?.clock.elapsed() ?? 0;
    const followed = await receipts.follow(key, question, signal);
    const rollout = rolloutOf(key, followed, followed.isLogged ? null : await notSent(key, rules, store));
    if (onward === null || !isOnGlobal(followed.targets)) return rollout;
    const leftMs = Math.max(0, question.waitMs - (onward.clock.elapsed() - began));
    return withOnward(rollout, await onward.of(key, leftMs, signal));
  };
}

function isOnGlobal(targets: readonly Target[]): boolean {
  return targets.some(({ to, state }) => to === GLOBAL && state === 'acknowledged');
}

/** The reason why nothing of the resource is in the log. @throws ApiError 404 */
async function notSent(key: ResourceKey, rules: SendRules, store: Pick<ResourceStore, 'get'>): Promise<string> {
  const unsynced = exclusionOfType(key.type, rules);
  if (unsynced !== null) return unsynced;
  const row = await store.get(key);
  if (row === undefined) {
    const kept = `the last ${String(MAX_CHANGES)} changes since the start of this process are kept`;
    throw missingResource(key, undefined, `${describeKey(key)}, nor its removal: ${kept}`);
  }
  return exclusionOfRow(row, rules) ?? 'it cannot be sent as it is; the log of this control plane says why';
}

/** @param onward null on global, and in a zone without a global */
export function addReceiptRoutes(
  app: FastifyInstance,
  context: ApiContext,
  receipts: Receipts,
  follow: FollowRollout,
  onward: OnwardFollower | null = null,
): void {
  addRolloutRoutes(app, context, follow);
  addListRoutes(app, context, receipts, onward);
  addChangeRoute(app, context, receipts, onward);
}

function hasPeers({ options }: ApiContext): boolean {
  return options.mode === 'global' || options.federated;
}

/** The last change of each resource. */
function addRolloutRoutes(app: FastifyInstance, context: ApiContext, follow: FollowRollout): void {
  const { callers, closing, service } = context;
  for (const info of resourceTypes) {
    const prefix = info.scope === 'Mesh' ? '/meshes/:mesh' : '';
    for (const path of [info.path, ...info.aliases]) {
      if (path === '') continue;
      app.get<{ Params: { mesh?: string; name: string } }>(`${prefix}/${path}/:name/_rollout`, item, async (request, reply) => {
        const { mesh = '', name } = request.params;
        callers.requireMay(info, request);
        if (!hasPeers(context)) await service.get(info, mesh, name);
        const query = queryOf(request);
        const question = { version: wholeNumber(query, 'version'), waitMs: waitOf(query) };
        return await follow({ type: info.name, mesh, name }, question, whileConnected(reply, closing));
      });
    }
  }
}

/** The last changes of all resources, and what global says of those of a zone. */
function addListRoutes(app: FastifyInstance, context: ApiContext, receipts: Receipts, onward: OnwardFollower | null): void {
  const { callers, closing } = context;
  app.get('/_changes', list, async (request, reply) => {
    const query = queryOf(request);
    const { size } = parsePage(query);
    const most = Math.max(1, Math.min(size, Math.floor(MAX_TARGETS / Math.max(1, receipts.peerCount))));
    const before = wholeNumber(query, 'before') ?? Infinity;
    if (!hasPeers(context)) return { items: [], next: null, note: NO_GLOBAL };
    requireServing(receipts);
    const mayRead = permitted((type) => callers.requireMay(typeOf(type), request));
    const found = receipts.changes.newest().filter(({ id, type }) => id < before && mayRead(type));
    const shown = found.slice(0, most);
    const items: Answer<'ChangeSummary'>[] = [];
    for await (const { change, targets, elsewhere } of receipts.listTargets(shown, whileConnected(reply, closing)))
      items.push(changeSummary(change, targets, elsewhere));
    return { items, next: found.length > most ? (items.at(-1)?.id ?? null) : null };
  });
  app.get('/_changes/_onward', many, async (request, reply): Promise<{ items: OnwardSummary[] }> => {
    const ids = numbersIn(queryOf(request));
    if (onward === null) return { items: [] };
    requireServing(receipts);
    const mayRead = permitted((type) => callers.requireMay(typeOf(type), request));
    const known = ids.map((id) => receipts.changes.find(id)).filter((change) => change !== undefined && mayRead(change.type));
    return { items: await onwardOfMany(known as Change[], receipts, onward, whileConnected(reply, closing)) };
  });
}

function addChangeRoute(app: FastifyInstance, context: ApiContext, receipts: Receipts, onward: OnwardFollower | null): void {
  const { callers, closing } = context;
  app.get<{ Params: { id: string } }>('/_changes/:id', one, async (request, reply): Promise<Answer<'Rollout'>> => {
    if (!hasPeers(context)) throw noSuchChange(request.params.id, NO_GLOBAL);
    requireServing(receipts);
    const { id } = request.params;
    const change = /^\d{1,10}$/.test(id) ? receipts.changes.find(Number(id)) : undefined;
    if (change === undefined) throw noSuchChange(request.params.id, keptChanges(receipts));
    callers.requireMay(typeOf(change.type), request);
    const { type, mesh, name } = change;
    const connected = whileConnected(reply, closing);
    const targets = await receipts.targetsEverywhere(change, connected);
    const rollout = rolloutOf({ type, mesh, name }, { change, isLogged: true, targets });
    if (onward === null || !isOnGlobal(targets)) return rollout;
    const newest = receipts.changes.ofRow(change) ?? change;
    return withOnward(
      rollout,
      newest.id === change.id ? await onward.of({ type, mesh, name }, 0, connected) : overtakenBy(newest),
    );
  });
}

function keptChanges({ changes }: Receipts): string {
  const kept = changes.newest();
  const [newest, oldest] = [kept[0]?.id, kept.at(-1)?.id];
  if (oldest === undefined) return 'none is kept yet';
  return `kept are ${String(oldest)} to ${String(newest)}; GET /_changes lists them`;
}

function noSuchChange(id: string, because: string): ApiError {
  return new ApiError('not_found', 'Could not retrieve a change', `Not found: change ${id}: ${because}`);
}

/** Refuses a request at a process that sends no changes: in a zone only the leader does. @throws ApiError 503 */
function requireServing({ isServing }: Receipts): void {
  if (isServing) return;
  throw new ApiError(
    'unavailable',
    'Service unavailable',
    'this replica sends no changes; ask the leader of the zone, which is connected to global',
  );
}

/** The onward rollouts of the changes that global has. Global answers for the newest change of a resource alone. */
async function onwardOfMany(
  known: readonly Change[],
  receipts: Receipts,
  onward: OnwardFollower,
  signal: AbortSignal,
): Promise<OnwardSummary[]> {
  const onGlobal = known.filter((change) => isOnGlobal(receipts.targetsOf(change)));
  const newest = onGlobal.filter((change) => (receipts.changes.ofRow(change)?.id ?? change.id) === change.id);
  const answers = newest.length === 0 ? [] : await onward.ofMany(newest, signal);
  const answered = new Map(newest.map(({ id }, index) => [id, answers[index]]));
  return onGlobal.map((change) => {
    const { id } = change;
    const answer = answered.get(id);
    if (answer !== undefined) return { id, ...answer };
    return { id, onwardNote: overtakenBy(receipts.changes.ofRow(change) ?? change).onwardNote };
  });
}

/** The answer for a change that a newer one replaced: global answers for the newest change of a resource alone. */
function overtakenBy({ id }: Pick<Change, 'id'>): Extract<Onward, { onwardNote: string }> {
  const onwardNote = `change ${String(id)} of the same resource came later, and global says where the newest change is`;
  return { onwardNote, isAwaited: false };
}

/** The numbers of `ids=3,4`. @throws ApiError 400 */
function numbersIn(query: URLSearchParams): number[] {
  const given = (query.get('ids') ?? '').split(',');
  if (given.length > MAX_ASKED || given.some((id) => !/^\d{1,10}$/.test(id)))
    throw badQuery('ids', `must be 1 to ${String(MAX_ASKED)} numbers of changes, such as 3,4`);
  return given.map(Number);
}

/** Returns null if it is not given. @throws ApiError 400 */
function wholeNumber(query: URLSearchParams, field: string): number | null {
  const given = query.get(field) ?? '';
  if (given === '') return null;
  if (!/^\d{1,10}$/.test(given)) throw badQuery(field, 'must be a whole number from 0');
  return Number(given);
}
