// `GET …/_matrix`: a page of the resources of a type, and the state of each of them in every zone.
import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { whileConnected } from '../writes/await-zones.ts';
import { nextPage, parsePage, queryOf, routePathOf } from '../http/list-query.ts';
import { listRows, rowFilterOf } from '../api/list-rows.ts';
import { about, component, PAGE } from '../http/route-config.ts';
import { meshType } from '../api/route-types.ts';
import { callerWork } from '../http/caller-work.ts';
import { mapInSteps } from '../base/steps.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { Explainer } from './explainer.ts';
import { matrixRow } from './sync-matrix.ts';
import type { ZoneNow } from './zones-now.ts';

type Matrix = Answer<'SyncMatrix'>;

/** The limit of resources × zones of one answer. */
const MAX_CELLS = 100_000;

/** A zone does not know the others. */
const TARGETS_IN_ZONE = ['global', 'other zones'];

const route = about('Inspect', 'Resources × zones: names there, rules and states; with many zones a page has fewer resources', {
  query: [...PAGE, 'zonesVersion'],
  answer: component('SyncMatrix'),
});

/** The zones in memory. */
export type FollowedZones = {
  /** Whether `followed` has every change that is committed now, once it has. */
  readonly caughtUp: () => Promise<boolean>;
  /** All zones by name; null while nothing follows them. */
  readonly followed: () => readonly ZoneNow[] | null;
};

/** Nothing follows the zones. */
export const NO_ZONES: FollowedZones = { caughtUp: async () => false, followed: () => null };

/** @param inMemory zones in memory: reading ten thousand zones from the store would take a second */
export function addMatrixRoutes(
  app: FastifyInstance,
  context: ApiContext,
  { caughtUp, zonesCaughtUp, elsewhere, explain }: Explainer,
  inMemory: FollowedZones,
): void {
  const { store, service, callers, closing, options, queue } = context;
  const versionOf = rememberVersion();
  for (const info of resourceTypes) {
    if (info.path === '' || info.isInsight) continue;
    const prefix = info.scope === 'Mesh' ? '/meshes/:mesh' : '';
    app.get<{ Params: { mesh?: string } }>(`${prefix}/${info.path}/_matrix`, route, async (request, reply): Promise<Matrix> => {
      const { mesh } = request.params;
      callers.requireMay(info, request);
      const query = queryOf(request);
      const asked = parsePage(query);
      const filter = rowFilterOf(info, mesh, query, routePathOf(request));
      const page = asked.size === 1 ? asked : { ...asked, size: Math.min(asked.size, await mostRows(store)) };
      // Read the rows before the log: what a zone has confirmed is then not older than the row.
      const { rows, total } = await listRows(store, filter, page);
      // The Mesh exists where it has a row.
      if (mesh !== undefined && rows.length === 0) await service.get(meshType, '', mesh, 'Failed to retrieve Mesh');
      // The log and the zones must know the same writes: a zone that left the mesh would seem to lack what the log no longer sends.
      const [isFollowed] = await Promise.all([inMemory.caughtUp(), caughtUp()]);
      const zones = (isFollowed ? inMemory.followed() : null) ?? (await zonesCaughtUp());
      const others = await elsewhere(rows, zones, whileConnected(reply, closing), true);
      const { caller, left } = callerWork(request);
      const explaining = mapInSteps(rows, (row, index) => matrixRow(explain(row, zones, others[index])));
      const items = await queue.run(caller, explaining, left);
      const names = options.zone === null ? zones.map(({ name }) => name) : TARGETS_IN_ZONE;
      const zonesVersion = versionOf(names);
      const isKnown = query.get('zonesVersion') === zonesVersion;
      return { total, ...(!isKnown && { zones: names }), zonesVersion, items, next: nextPage(request, page, total) };
    });
  }
}

/** The largest number of resources of one answer. */
async function mostRows(store: Pick<ResourceStore, 'count'>): Promise<number> {
  return Math.max(1, Math.floor(MAX_CELLS / Math.max(1, await store.count({ type: 'Zone' }))));
}

/** The version of a list of names: a hash of them, which is made again when they differ from the last ones. */
function rememberVersion(): (names: readonly string[]) => string {
  let last: { readonly names: readonly string[]; readonly version: string } = { names: [], version: '' };
  return (names) => {
    const isSame =
      last.version !== '' && names.length === last.names.length && names.every((name, at) => name === last.names[at]);
    if (!isSame) last = { names, version: createHash('sha256').update(JSON.stringify(names)).digest('base64url').slice(0, 22) };
    return last.version;
  };
}
