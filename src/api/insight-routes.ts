// Summaries of meshes and of everything, computed from the rows for each request (rest-api 3).
import type { FastifyInstance } from 'fastify';
import { typeOf } from '../resource/type-registry.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import type { ApiContext } from './api-options.ts';
import { globalInsight, globalTotals, meshInsight, type Census } from './insight-bodies.ts';
import { nextPage, parsePage, queryOf, routePathOf } from '../http/list-query.ts';
import { listRows, rowFilterOf } from './list-rows.ts';
import { timeOf } from '../document/universal-form.ts';
import { about, component, PAGE, pageOf } from '../http/route-config.ts';
import { meshType } from './route-types.ts';
import { shareCensus } from './take-census.ts';

const info = typeOf('MeshInsight');

export function addInsightRoutes(app: FastifyInstance, { store, service, insights, clock }: ApiContext): void {
  const census = shareCensus(store, insights, clock);
  const bodyOf = (mesh: Resource, counted: Census): JsonObject => ({
    type: info.name,
    name: mesh.name,
    creationTime: timeOf(mesh.creationTime),
    modificationTime: timeOf(clock.now()),
    ...meshInsight(mesh.name, counted),
  });
  const list = about('Insights', 'Summaries of the meshes', { query: PAGE, answer: pageOf(info.name) });
  app.get(`/${info.path}`, list, async (request) => {
    const query = queryOf(request);
    const page = parsePage(query);
    const { rows, total } = await listRows(store, rowFilterOf(meshType, undefined, query, routePathOf(request)), page);
    const counted = await census();
    return { total, items: rows.map((mesh) => bodyOf(mesh, counted)), next: nextPage(request, page, total) };
  });
  app.get<{ Params: { name: string } }>(
    `/${info.path}/:name`,
    about('Insights', 'The summary of a mesh', { answer: component(info.name) }),
    async (request) => {
      return bodyOf(await service.get(meshType, '', request.params.name), await census());
    },
  );
  app.get('/global-insight', about('Insights', 'The summary of everything'), async () => ({
    createdAt: timeOf(clock.now()),
    ...globalInsight(await census()),
  }));
  app.get('/global-insights', about('Insights', 'Totals of the Global types'), async () => ({
    type: 'GlobalInsights',
    creationTime: timeOf(clock.now()),
    resources: globalTotals(await census()),
  }));
}
