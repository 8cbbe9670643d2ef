// `GET …/{name}/_sync`: why a zone has or lacks a resource. `GET …/_sync`: the same for a page of the resources of a mesh.
import type { FastifyInstance } from 'fastify';
import type { ApiContext } from '../api/api-options.ts';
import { callerWork } from '../http/caller-work.ts';
import { mapInSteps } from '../base/steps.ts';
import { nextPage, parsePage, queryOf, routePathOf } from '../http/list-query.ts';
import { listRows, rowFilterOf } from '../api/list-rows.ts';
import { whileConnected } from '../writes/await-zones.ts';
import { about, component, pageOf, PAGE } from '../http/route-config.ts';
import { meshType } from '../api/route-types.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { Explainer } from './explainer.ts';

const explained = about('Inspect', 'The zones that get the resource, and the rule that decides', {
  answer: component('SyncExplanation'),
});

const explainedPage = about('Inspect', 'The same for a page of resources; with many zones a page has fewer', {
  query: PAGE,
  answer: pageOf('SyncExplanation'),
});

/** The limit of the zones of all resources of a page. */
const MAX_TARGETS = 10_000;

export function addSyncRoutes(app: FastifyInstance, context: ApiContext, { zonesCaughtUp, elsewhere, explain }: Explainer): void {
  const { store, service, callers, closing, queue } = context;
  for (const info of resourceTypes) {
    const prefix = info.scope === 'Mesh' ? '/meshes/:mesh' : '';
    for (const path of [info.path, ...info.aliases]) {
      if (path === '') continue;
      app.get<{ Params: { mesh?: string; name: string } }>(`${prefix}/${path}/:name/_sync`, explained, async (request, reply) => {
        const { mesh = '', name } = request.params;
        callers.requireMay(info, request);
        const row = await service.get(info, mesh, name);
        const zones = await zonesCaughtUp();
        const [others] = await elsewhere([row], zones, whileConnected(reply, closing));
        return explain(row, zones, others);
      });
      if (info.scope !== 'Mesh') continue;
      app.get<{ Params: { mesh: string } }>(`${prefix}/${path}/_sync`, explainedPage, async (request, reply) => {
        const { mesh } = request.params;
        callers.requireMay(info, request);
        const query = queryOf(request);
        const asked = parsePage(query);
        const filter = rowFilterOf(info, mesh, query, routePathOf(request));
        await service.get(meshType, '', mesh, 'Failed to retrieve Mesh');
        const most = Math.max(1, Math.floor(MAX_TARGETS / Math.max(1, await store.count({ type: 'Zone' }))));
        const page = { ...asked, size: Math.min(asked.size, most) };
        // Read the rows before the log: what a zone has confirmed is then not older than the row.
        const { rows, total } = await listRows(store, filter, page);
        const zones = await zonesCaughtUp();
        const others = await elsewhere(rows, zones, whileConnected(reply, closing));
        const explaining = mapInSteps(rows, (row, index) => explain(row, zones, others[index]));
        const { caller, left } = callerWork(request);
        const items = await queue.run(caller, explaining, left);
        return { total, items, next: nextPage(request, page, total) };
      });
    }
  }
}
