// `POST /_preview`: the effect of documents and deletions that are not written. It makes every check of a PUT and a DELETE, as a dry run
// does. The answer has the differences, the zones that get or lose each resource, and the proxies that change.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { parseDocuments, storedNameIn, type ApplyDocument } from '../writes/apply-documents.ts';
import { applyAll, type AppliedWrite } from '../writes/apply-service.ts';
import { CallerSlots } from '../http/caller-slots.ts';
import { badQuery } from '../http/error-body.ts';
import { membershipReceipt } from '../writes/membership-receipt.ts';
import type { WriteCall } from '../writes/resource-service.ts';
import { about, component } from '../http/route-config.ts';
import { callerWork, type CallerWork } from '../http/caller-work.ts';
import { mapInSteps, type Steps } from '../base/steps.ts';
import type { SyncStates } from '../kds/sender/open-senders.ts';
import type { SendRules } from '../kds/protocol/rules.ts';
import type { MeshIndexes } from '../mesh-index/mesh-indexes.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import { isObject } from '../resource/read-json.ts';
import { keyText, type Resource } from '../resource/types.ts';
import { explainInZone, explainOnGlobal } from './explain-sync.ts';
import { changedProxies, statesOf, type MeshEdits } from './preview.ts';
import { adviceOn } from './write-advice.ts';
import { zonesNow, type ZoneNow } from './zones-now.ts';

type Preview = Answer<'Preview'>;
type Options = { readonly rules: SendRules; readonly indexes: MeshIndexes; readonly syncs: SyncStates };

export const MAX_PREVIEW_BYTES = 1024 * 1024;
export const MAX_PREVIEWED = 100;
/** The limit of the zones of all documents of an answer. */
const MAX_TARGETS = 10_000;
/** The limit of the previews of one caller at once: each has two copies of a mesh. */
const MAX_OF_CALLER = 4;

const declared = about('Inspect', 'What documents would change, without writing them: zones, proxies and values in force', {
  body: {
    description: 'documents, or an object with documents and with resources to delete, each with `type`, `mesh` and `name`',
    oneOf: [
      { type: 'array', items: { type: 'object' }, maxItems: MAX_PREVIEWED },
      {
        type: 'object',
        properties: Object.fromEntries(
          ['documents', 'delete'].map((field) => [field, { type: 'array', items: { type: 'object' }, maxItems: MAX_PREVIEWED }]),
        ),
      },
    ],
  },
  answer: component('Preview'),
  takesYaml: true,
});

export function addPreviewRoute(app: FastifyInstance, context: ApiContext, sources: Options): void {
  const { store, clock, callers, queue } = context;
  const onRequest = async (request: FastifyRequest): Promise<void> => callers.requireMayWriteSome(request);
  const slots = new CallerSlots(MAX_OF_CALLER, 'previews');
  app.post('/_preview', { onRequest, ...declared, bodyLimit: MAX_PREVIEW_BYTES }, async (request): Promise<Preview> => {
    const work = callerWork(request);
    return await slots.during(work.caller, () => preview(request, work));
  });

  async function preview(request: FastifyRequest, work: CallerWork): Promise<Preview> {
    const { results, deleted } = await planEdits(context, request);
    const moved = await Promise.all(results.map(({ before, row }) => membershipReceipt(context, before, row, request)));
    const zones = await zonesNow(store, (zone) => sources.syncs.lagOf(zone), clock);
    const sync = (row: Resource): Answer<'SyncExplanation'> => explainedNow(context.options, sources.rules, row, zones);
    const most = Math.max(1, Math.floor(MAX_TARGETS / Math.max(1, results.length + deleted.length)));
    const rows = results.filter(({ result }) => result !== 'unchanged').map(({ row }) => row);
    // A Mesh is deleted without Dataplanes.
    const gone = deleted.map(({ row }) => row).filter(({ type }) => type !== 'Mesh');
    const meshes = new Set([...rows, ...gone].map(meshOf));
    const proxies: Preview['proxies'][] = [];
    const advice: Advice = new Map();
    for (const mesh of meshes) {
      const isOf = (row: Resource): boolean => meshOf(row) === mesh;
      if (mesh !== '') proxies.push(await proxiesIn(mesh, { rows: rows.filter(isOf), gone: gone.filter(isOf) }, advice, work));
    }
    const explaining = mapInSteps(results, (result, index) => ({
      ...itemOf(result, advice.get(keyText(result.row)) ?? [], sync(result.row), most),
      ...moved[index],
    }));
    const ofDeleted = mapInSteps(deleted, (one) => deletedItemOf(one, sync(one.row), most));
    const items = [
      ...(await queue.run(work.caller, explaining, work.left)),
      ...(await queue.run(work.caller, ofDeleted, work.left)),
    ];
    return { items, proxies: together(proxies) };
  }

  /** @param advice gets the sentences about each row, as it would be */
  async function proxiesIn(
    mesh: string,
    edits: MeshEdits,
    advice: Advice,
    { caller, left }: CallerWork,
  ): Promise<Preview['proxies']> {
    const isStored = (await store.get({ type: 'Mesh', mesh: '', name: mesh })) !== undefined;
    const index = isStored ? await sources.indexes.indexOf(mesh) : new MeshIndex(mesh);
    return await queue.run(caller, proxiesOf(index, edits, advice), left);
  }
}

/** Sentences about rows, by `keyText`. */
type Advice = Map<string, readonly string[]>;

function* proxiesOf(index: MeshIndex, edits: MeshEdits, advice: Advice): Steps<Preview['proxies']> {
  const states = yield* statesOf(index, edits);
  for (const row of edits.rows) advice.set(keyText(row), yield* adviceOn(states.after, row));
  return yield* changedProxies(states, edits);
}

/** Makes the checks of each PUT and each DELETE. @throws what a PUT or a DELETE throws */
async function planEdits(
  context: ApiContext,
  request: FastifyRequest,
): Promise<{ results: readonly AppliedWrite[]; deleted: readonly Deleted[] }> {
  const { options, store, service, callers, rules, queue, checkOffThread } = context;
  const work = callerWork(request);
  const { documents, deletions } = await queue.run(work.caller, editsIn(request.body), work.left);
  const mayWrite: WriteCall['authorize'] = (info, at) => callers.requireMayWrite(info, at, request);
  const authorizeUse: WriteCall['authorizeUse'] = (mesh, field) => callers.requireMayUse(mesh, field, request);
  const authorize = ({ info, mesh, name }: ApplyDocument): void => mayWrite(info, { mesh, name });
  const plan = { store, service, rules, queue, checkOffThread, meshDefaults: options.meshDefaults };
  const by = { user: callers.userOf(request).name };
  const results =
    documents.length === 0 ? [] : await applyAll(documents, plan, { dryRun: true, authorize, authorizeUse, by, work });
  const deleted: Deleted[] = [];
  for (const document of deletions) {
    const { info, mesh } = document;
    // Check before the row is read: a refusal must not say whether it exists.
    callers.requireMay(info, request);
    const name = storedNameIn(document);
    const takes = await service.planDelete(info, mesh, name, {
      precondition: null,
      by,
      authorize: mayWrite,
      authorizeUse,
      work: () => work,
    });
    deleted.push({ row: await service.get(info, mesh, name), takes });
  }
  return { results, deleted };
}

/** The zones that would get a row, each with its present state. */
function explainedNow(
  { zone, federated }: ApiContext['options'],
  rules: SendRules,
  row: Resource,
  zones: readonly ZoneNow[],
): Answer<'SyncExplanation'> {
  if (zone !== null) return explainInZone(rules, row, { name: zone, hasGlobal: federated });
  const known = zones.map(({ name, profile, insight }) => ({ name, profile, insight: insight.status }));
  const explained = explainOnGlobal(rules, row, known);
  const states = new Map(zones.map((one) => [one.name, one.sync]));
  return {
    ...explained,
    targets: explained.targets.map((target) => {
      const state = states.get(target.to);
      return { ...target, ...(state !== undefined && { zone: state }) };
    }),
  };
}

type Deleted = { readonly row: Resource; readonly takes: readonly { readonly type: string; readonly total: number }[] };

/** @throws ApiError 400 */
function* editsIn(body: unknown): Steps<{ documents: ApplyDocument[]; deletions: ApplyDocument[] }> {
  const list = isObject(body) ? body['delete'] : undefined;
  const deletions = list === undefined ? [] : yield* parseDocuments(list, 'delete');
  const hasOthers = list === undefined || (isObject(body) && (body['documents'] ?? body['items']) !== undefined);
  const documents = hasOthers ? yield* parseDocuments(body) : [];
  if (documents.length + deletions.length > MAX_PREVIEWED)
    throw badQuery('documents', `a preview takes at most ${String(MAX_PREVIEWED)} documents; preview them in parts`);
  const textOf = ({ info, mesh, name }: ApplyDocument): string => keyText({ type: info.name, mesh, name });
  const kept = new Set(documents.map(textOf));
  const twice = deletions.find((one) => kept.has(textOf(one)));
  if (twice !== undefined) throw badQuery(twice.place, 'is also one of the documents; give it once');
  return { documents, deletions };
}

function meshOf({ type, mesh, name }: Resource): string {
  return type === 'Mesh' ? name : mesh;
}

function deletedItemOf({ row, takes }: Deleted, sync: Answer<'SyncExplanation'>, mostTargets: number): Preview['items'][number] {
  const { type, mesh, name, version } = row;
  return {
    ...{ type, ...(mesh !== '' && { mesh }), name, result: 'deleted', version },
    ...(takes.length > 0 && { takes: [...takes] }),
    sentTo: sync.targets.filter(({ isSent }) => isSent).length,
    sync: { ...sync, targets: sync.targets.slice(0, mostTargets) },
  };
}

function itemOf(
  result: AppliedWrite,
  advice: readonly string[],
  sync: Answer<'SyncExplanation'>,
  mostTargets: number,
): Preview['items'][number] {
  const { key, result: outcome, version, diff } = result;
  const warnings = [...result.warnings, ...advice];
  const { targets } = sync;
  return {
    type: key.type,
    ...(key.mesh !== '' && { mesh: key.mesh }),
    name: key.name,
    result: outcome,
    version,
    ...(warnings.length > 0 && { warnings }),
    diff,
    sentTo: targets.filter(({ isSent }) => isSent).length,
    sync: { ...sync, targets: targets.slice(0, mostTargets) },
  };
}

function together(parts: readonly Preview['proxies'][]): Preview['proxies'] {
  const sum = (of: (part: Preview['proxies']) => number): number => parts.reduce((total, part) => total + of(part), 0);
  return {
    candidates: sum(({ candidates }) => candidates),
    compared: sum(({ compared }) => compared),
    changed: sum(({ changed }) => changed),
    items: parts.flatMap(({ items }) => items),
  };
}
