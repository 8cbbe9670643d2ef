// Where a name leads that the application of a proxy calls: `GET /meshes/{mesh}/dataplanes/{name}/_names/{hostname}`.
import type { FastifyInstance } from 'fastify';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { oneStep } from '../base/steps.ts';
import { callerWork } from '../http/caller-work.ts';
import { about, component } from '../http/route-config.ts';
import { proxyOf, type InspectContext } from './inspect-context.ts';
import { nameWay, proxiesOnNameWay } from './name-way.ts';
import { proxyProblems } from './proxy-problems.ts';
import { wayFacts, type WayFactsContext } from './way-facts.ts';

type NameContext = InspectContext & WayFactsContext & Pick<ApiContext, 'queue'>;
type Params = { readonly mesh: string; readonly name: string; readonly hostname: string };

export function addNameRoutes(app: FastifyInstance, context: NameContext): void {
  const summary = 'Where a name leads that the application of a proxy calls: address, listener, routes and servers';
  const described = about('Inspect', summary, { answer: component('NameWay') });
  app.get<{ Params: Params }>(
    '/meshes/:mesh/dataplanes/:name/_names/:hostname',
    described,
    async (request): Promise<Answer<'NameWay'>> => {
      const { index, proxy } = await proxyOf(context, request.params);
      const hostname = request.params.hostname.toLowerCase().replace(/\.$/, '');
      const facts = await wayFacts(context, index.mesh, () => proxiesOnNameWay(index, proxy, hostname));
      const [problems = []] = (await proxyProblems(context, [proxy.resource])).values();
      const { caller, left } = callerWork(request);
      const steps = oneStep(() => nameWay(index, proxy, hostname, { ...facts, problems }));
      return await context.queue.run(caller, steps, left);
    },
  );
}
