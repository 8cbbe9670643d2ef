// `POST /_preview`: what documents would do that are not written. Each check of a PUT is made, as with `POST /_apply?dryRun=true`;
// beside the differences it answers which zones get each resource and which proxies change.
import type { FastifyInstance } from 'fastify';
import type { Answer } from '../api/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { parseDocuments, type ApplyDocument } from '../api/apply-documents.ts';
import { applyAll, type AppliedWrite } from '../api/apply-service.ts';
import { badQuery } from '../api/error-body.ts';
import { about, component } from '../api/route-config.ts';
import { Turns } from '../base/turns.ts';
import type { SyncStates } from '../kds/open-senders.ts';
import type { SendRules } from '../kds/rules.ts';
import type { MeshIndexes } from '../mesh-index/mesh-indexes.ts';
import { MeshIndex } from '../policy/mesh-index.ts';
import type { Resource } from '../resource/types.ts';
import { explainInZone, explainOnGlobal } from './explain-sync.ts';
import { changedProxies, statesOf } from './preview.ts';
import { zonesNow, type ZoneNow } from './zones-now.ts';

type Preview = Answer<'Preview'>;
type Options = { readonly rules: SendRules; readonly indexes: MeshIndexes; readonly syncs: SyncStates };

export const MAX_PREVIEW_BYTES = 1024 * 1024;
export const MAX_PREVIEWED = 100;
/** Zones of all documents of an answer. */
const MAX_TARGETS = 10_000;

const declared = about('Inspect', 'What documents would change, without writing them: zones, proxies and values in force', {
  body: { type: 'array', items: { type: 'object' }, maxItems: MAX_PREVIEWED },
  answer: component('Preview'),
  takesYaml: true,
});

export function addPreviewRoute(app: FastifyInstance, context: ApiContext, { rules, indexes, syncs }: Options): void {
  const { options, store, service, callers, clock } = context;
  const { meshDefaults } = options;
  // All previews of this process together: many callers delay each other, and not the sync.
  const turns = new Turns(clock);
  app.post('/_preview', { ...declared, bodyLimit: MAX_PREVIEW_BYTES }, async (request): Promise<Preview> => {
    const documents = parseDocuments(request.body);
    if (documents.length > MAX_PREVIEWED)
      throw badQuery('documents', `a preview takes at most ${String(MAX_PREVIEWED)} documents; preview them in parts`);
    const authorize = ({ info, mesh, name }: ApplyDocument): void => callers.requireMayWrite(info, { mesh, name }, request);
    const plan = { store, service, rules: context.rules, meshDefaults };
    const results = await applyAll(documents, plan, { dryRun: true, authorize, by: { user: callers.userOf(request).name } });
    const zones = await zonesNow(store, (zone) => syncs.lagOf(zone), clock);
    const most = Math.max(1, Math.floor(MAX_TARGETS / Math.max(1, results.length)));
    const items = results.map((result) => itemOf(result, sync(result.row, zones), most));
    const meshes = Map.groupBy(
      results.filter(({ result }) => result !== 'unchanged').map(({ row }) => row),
      ({ type, mesh, name }) => (type === 'Mesh' ? name : mesh),
    );
    const proxies: Preview['proxies'][] = [];
    for (const [mesh, rows] of meshes) if (mesh !== '') proxies.push(await proxiesIn(mesh, rows));
    return { items, proxies: together(proxies) };
  });

  function sync(row: Resource, zones: readonly ZoneNow[]): Answer<'SyncExplanation'> {
    if (options.zone !== null) return explainInZone(rules, row, options.zone);
    const known = zones.map(({ name, profile, insight }) => ({ name, profile, insight: insight.status }));
    const explained = explainOnGlobal(rules, row, known);
    const states = new Map(zones.map((zone) => [zone.name, zone.sync]));
    return {
      ...explained,
      targets: explained.targets.map((target) => {
        const zone = states.get(target.to);
        return { ...target, ...(zone !== undefined && { zone }) };
      }),
    };
  }

  async function proxiesIn(mesh: string, rows: readonly Resource[]): Promise<Preview['proxies']> {
    const isStored = (await store.get({ type: 'Mesh', mesh: '', name: mesh })) !== undefined;
    const index = isStored ? await indexes.indexOf(mesh) : new MeshIndex(mesh);
    return await changedProxies(await statesOf(index, rows, turns), rows, turns);
  }
}

function itemOf(result: AppliedWrite, sync: Answer<'SyncExplanation'>, mostTargets: number): Preview['items'][number] {
  const { key, result: outcome, version, warnings, diff } = result;
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
