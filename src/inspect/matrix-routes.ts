// `GET …/_matrix`: a page of the resources of a type, and for each of them what is so with every zone.
import type { FastifyInstance } from 'fastify';
import type { Answer } from '../api/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { whileConnected } from '../api/await-zones.ts';
import { nextPage, parsePage, queryOf, routePathOf } from '../api/list-query.ts';
import { listRows, rowFilterOf } from '../api/list-rows.ts';
import { about, component, PAGE } from '../api/route-config.ts';
import { meshType } from '../api/route-types.ts';
import { Turns } from '../base/turns.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { Explainer } from './explainer.ts';
import { matrixRow } from './sync-matrix.ts';
import type { ZoneNow } from './zones-now.ts';

type Matrix = Answer<'SyncMatrix'>;

/** Resources × zones of one answer. */
const MAX_CELLS = 100_000;

/** A zone does not know the others. */
const TARGETS_IN_ZONE = ['global', 'other zones'];

const route = about('Inspect', 'Resources × zones: names there, rules and states; with many zones a page has fewer resources', {
  query: PAGE,
  answer: component('SyncMatrix'),
});

/** All zones by name as far as they are in memory; null while nothing follows them. */
export type FollowedZones = () => readonly ZoneNow[] | null;

/** @param followed zones in memory: of ten thousand zones, the store would be read for a second */
export function addMatrixRoutes(
  app: FastifyInstance,
  context: ApiContext,
  { caughtUp, zonesCaughtUp, elsewhere, explain }: Explainer,
  followed: FollowedZones = () => null,
): void {
  const { store, service, callers, clock, closing, options } = context;
  // All matrices of this process together: many callers delay each other, and not the sync.
  const turns = new Turns(clock);
  for (const info of resourceTypes) {
    if (info.path === '' || info.isInsight) continue;
    const prefix = info.scope === 'Mesh' ? '/meshes/:mesh' : '';
    app.get<{ Params: { mesh?: string } }>(`${prefix}/${info.path}/_matrix`, route, async (request, reply): Promise<Matrix> => {
      const { mesh } = request.params;
      callers.requireMay(info, request);
      const query = queryOf(request);
      const asked = parsePage(query);
      const filter = rowFilterOf(info, mesh, query, routePathOf(request));
      if (mesh !== undefined) await service.get(meshType, '', mesh, 'Failed to retrieve Mesh');
      const most = Math.max(1, Math.floor(MAX_CELLS / Math.max(1, await store.count({ type: 'Zone' }))));
      const page = { ...asked, size: Math.min(asked.size, most) };
      // The rows before the log: what a zone has confirmed is then not older than the row.
      const { rows, total } = await listRows(store, filter, page);
      await caughtUp();
      const zones = followed() ?? (await zonesCaughtUp());
      const others = await elsewhere(rows, zones, whileConnected(reply, closing), true);
      const items: Matrix['items'][number][] = [];
      for (const [index, row] of rows.entries()) items.push(await turns.run(() => matrixRow(explain(row, zones, others[index]))));
      const names = options.zone === null ? zones.map(({ name }) => name) : TARGETS_IN_ZONE;
      return { total, zones: names, items, next: nextPage(request, page, total) };
    });
  }
}
