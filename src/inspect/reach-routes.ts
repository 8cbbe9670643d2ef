// The routes from a policy or a service to proxies: `_resources/dataplanes`, `dataplanes`, `_reach`, `_dataplanes` (rest-api 4,
// policies 8).
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { callerWork } from '../http/caller-work.ts';
import { about, component, NAMED_PAGE } from '../http/route-config.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Policy } from '../policy/parse-policy.ts';
import { policyDataplanesView, serviceDataplanesView } from '../policy/inspect-view.ts';
import { policyReach, type PolicyReach } from '../policy/policy-reach.ts';
import { whyShadowed } from '../policy/shadowed-policy.ts';
import { textOf } from '../resource/read-json.ts';
import { isServiceType, resourceTypes } from '../resource/type-registry.ts';
import { nameText, type JsonObject } from '../resource/types.ts';
import { indexOf, required, type InspectContext } from './inspect-context.ts';
import { pageOf } from './paging.ts';
import { proxyProblems } from './proxy-problems.ts';
import { attachedView, reachHead, touchedView } from './reach-view.ts';
import { proxiesOnWays, waysTo } from './service-ways.ts';
import { wayFacts, type WayFactsContext } from './way-facts.ts';

/** Kuma uses this title for a service too. */
const NO_POLICY = 'Could not retrieve policy';

type ReachContext = InspectContext & WayFactsContext & Pick<ApiContext, 'queue'>;
type Named = { Params: { mesh: string; name: string } };

export function addReachRoutes(app: FastifyInstance, context: ReachContext): void {
  for (const { name: type, path, policy } of resourceTypes) {
    const item = `/meshes/:mesh/${path}/:name`;
    if (policy !== null) addPolicy(app, context, type, item);
    if (isServiceType(type)) addService(app, context, type, item);
  }
}

function addPolicy(app: FastifyInstance, context: ReachContext, type: string, item: string): void {
  const policyOf = async ({ mesh, name }: Named['Params']): Promise<{ index: MeshIndex; policy: Policy }> => {
    const index = await indexOf(context, mesh);
    return { index, policy: required(index.policy(type, name), { type, mesh, name }, NO_POLICY) };
  };
  const reachOf = async (request: FastifyRequest, index: MeshIndex, policy: Policy): Promise<PolicyReach> => {
    const { caller, left } = callerWork(request);
    return await context.queue.run(caller, policyReach(index, policy), left);
  };
  const matched = about('Inspect', 'The proxies that a policy matches', { query: NAMED_PAGE });
  app.get<Named>(`${item}/_resources/dataplanes`, matched, async (request) => {
    const { index, policy } = await policyOf(request.params);
    return pageOf(request, policyDataplanesView(index, policy), nameOf);
  });
  const summary = 'The proxies that a policy configures, and the reasons for the others';
  const reached = about('Inspect', summary, { query: NAMED_PAGE, answer: component('Reach') });
  app.get<Named>(`${item}/_reach`, reached, async (request): Promise<Answer<'Reach'>> => {
    const { index, policy } = await policyOf(request.params);
    const reach = await reachOf(request, index, policy);
    const { items, ...page } = pageOf(request, reach.touched, ({ proxy }) => proxy.displayName);
    const problems = await proxyProblems(
      context,
      items.map(({ proxy }) => proxy.resource),
    );
    const touched = items.map((one) => {
      const found = problems.get(nameText(one.proxy.resource))?.filter(({ policies }) => policies.includes(policy.kri)) ?? [];
      return { ...touchedView(one), ...(found.length > 0 && { problems: found }) };
    });
    const head = reachHead(reach);
    const { caller, left } = callerWork(request);
    const shadow = await context.queue.run(caller, whyShadowed(index, policy), left);
    return { ...head, warnings: [...head.warnings, ...(shadow === null ? [] : [shadow])], touched, ...page };
  });
  const attached = about('Inspect', 'Deprecated: the proxies that a policy is attached to');
  app.get<Named>(`${item}/dataplanes`, attached, async (request) => {
    const { index, policy } = await policyOf(request.params);
    const items = (await reachOf(request, index, policy)).touched.map(attachedView);
    return { total: items.length, items };
  });
}

function addService(app: FastifyInstance, context: ReachContext, type: string, item: string): void {
  const behind = about('Inspect', 'The proxies behind a service', { query: NAMED_PAGE });
  app.get<Named>(`${item}/_dataplanes`, behind, async (request) => {
    const { mesh, name } = request.params;
    const index = await indexOf(context, mesh);
    const service = required(index.get(type, name), { type, mesh, name }, NO_POLICY);
    return pageOf(request, serviceDataplanesView(index, service), nameOf);
  });
  const summary = 'How the proxies of each zone reach a service, with the state of each part of the way';
  const ways = about('Inspect', summary, { query: NAMED_PAGE, answer: component('Ways') });
  app.get<Named>(`${item}/_ways`, ways, async (request): Promise<Answer<'Ways'>> => {
    const { mesh, name } = request.params;
    const index = await indexOf(context, mesh);
    const service = required(index.get(type, name), { type, mesh, name }, NO_POLICY);
    const facts = await wayFacts(context, mesh, (zones) => proxiesOnWays(index, service, zones));
    const found = waysTo(index, service, facts);
    return { kri: index.kriOf(service), ...pageOf(request, found, ({ from }) => from) };
  });
}

function nameOf(meta: JsonObject): string {
  return textOf(meta['name']);
}
