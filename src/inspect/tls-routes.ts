// `GET /meshes/{mesh}/_tls`: the services of a mesh that take plain text, and the reasons.
import type { FastifyInstance } from 'fastify';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { callerWork } from '../http/caller-work.ts';
import { oneStep } from '../base/steps.ts';
import { about, component, NAMED_PAGE } from '../http/route-config.ts';
import { IN_FORCE } from '../resource/own-secrets.ts';
import { indexOf, type InspectContext } from './inspect-context.ts';
import { meshTlsView } from './mesh-tls-view.ts';
import { pageOf } from './paging.ts';
import { withdrawalsView } from './withdrawals-view.ts';

export function addTlsRoutes(app: FastifyInstance, context: InspectContext & Pick<ApiContext, 'queue'>): void {
  const summary = 'The services of a mesh that take plain text, and the reasons';
  const declared = about('Inspect', summary, { query: NAMED_PAGE, answer: component('MeshTls') });
  app.get<{ Params: { mesh: string } }>('/meshes/:mesh/_tls', declared, async (request): Promise<Answer<'MeshTls'>> => {
    const { mesh } = request.params;
    const index = await indexOf(context, mesh);
    const dataplanes = [...index.proxies()].map(({ resource }) => resource);
    const { rows, whyUnknown } = await context.insights.ofMesh(mesh, dataplanes);
    const { caller, left } = callerWork(request);
    const viewing = oneStep(() => meshTlsView(index, rows, whyUnknown));
    const { items, ...head } = await context.queue.run(caller, viewing, left);
    const withdrawals = withdrawalsView(await context.store.list({ type: 'Secret', mesh, nameContains: IN_FORCE }));
    return { ...head, withdrawals, ...pageOf(request, items, ({ service }) => service.name) };
  });
}
