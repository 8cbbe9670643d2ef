// The effective policies of one proxy: `GET /meshes/{mesh}/dataplanes/{name}/…` (rest-api 4, policies 8).
import type { FastifyInstance } from 'fastify';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from '../api/api-options.ts';
import { about, component, NAMED_PAGE } from '../http/route-config.ts';
import { callerWork } from '../http/caller-work.ts';
import { oneStep, type Steps } from '../base/steps.ts';
import { buildRules, type ProxyRules } from '../policy/build-rules.ts';
import {
  inboundPoliciesView,
  layoutView,
  outboundPoliciesView,
  policiesView,
  routePoliciesView,
  routesView,
} from '../policy/inspect-view.ts';
import type { Outbound } from '../policy/outbounds.ts';
import { rulesView } from '../policy/rules-view.ts';
import { displayNameOf } from '../resource/labels.ts';
import { attachedPoliciesView } from './attached-policies-view.ts';
import { effectiveHead, effectiveOutboundView } from './effective-view.ts';
import { proxyOf, required, requireKri, type InspectContext, type InspectedProxy } from './inspect-context.ts';
import { pageOf } from './paging.ts';
import { dataplaneProblems, proxyProblems } from './proxy-problems.ts';

type Params = { readonly mesh: string; readonly name: string; readonly kri?: string; readonly route?: string };
type Ruled = InspectedProxy & { readonly rules: ProxyRules };
type View<T> = (proxy: Ruled, kri: string, route: string) => T;

const DATAPLANE = '/meshes/:mesh/dataplanes/:name';
const EFFECTIVE = 'The effective conf of each outbound and route, with the origin of each value';

export function addProxyRoutes(app: FastifyInstance, context: InspectContext & Pick<ApiContext, 'queue'>): void {
  const getInSteps = (path: string, summary: string, view: View<Steps<object>>, title?: string): void => {
    app.get<{ Params: Params }>(`${DATAPLANE}/${path}`, about('Inspect', summary), async (request) => {
      const { params } = request;
      const [kri, route] = [params.kri, params.route].map((part) => (part === undefined ? '' : requireKri(part, params.mesh)));
      const inspected = await proxyOf(context, params, title);
      const { caller, left } = callerWork(request);
      return await context.queue.run(
        caller,
        withRules(inspected, (ruled) => view(ruled, kri ?? '', route ?? '')),
        left,
      );
    });
  };
  const get = (path: string, summary: string, view: View<object>, title?: string): void =>
    getInSteps(path, summary, (...asked) => oneStep(() => view(...asked)), title);
  getInSteps('_rules', 'All rules of a proxy, by type and resource', ({ rules }) => rulesView(rules));
  get('_policies', 'Policies about the whole proxy', ({ rules }) => policiesView(rules));
  const attached: View<Steps<object>> = ({ index, rules, outbounds }) => attachedPoliciesView(index, rules, outbounds());
  getInSteps('policies', 'Deprecated: the policies that are attached to a proxy', attached, 'Could not get MatchedPolicies');
  const layout: View<object> = ({ index, proxy, outbounds }) => layoutView(index, proxy, outbounds());
  get('_layout', 'Inbounds, zone listeners and outbounds of a proxy', layout, 'Failed to retrieve Dataplane');
  get('_inbounds/:kri/_policies', 'Policies of an inbound or zone listener', ({ rules }, kri) =>
    required(inboundPoliciesView(rules, kri), `inbound ${kri} of this Dataplane`),
  );
  get('_outbounds/:kri/_policies', 'Policies in force on an outbound', ({ index, rules }, kri) =>
    required(outboundPoliciesView(index, rules, kri), `service or port ${kri}`),
  );
  get('_outbounds/:kri/_routes', 'The routes of an outbound', ({ index, rules }, kri) =>
    required(routesView(index, rules, kri), `service or port ${kri}`),
  );
  get('_outbounds/:kri/_routes/:route/_policies', 'Policies in force on a route of an outbound', ({ index, rules }, kri, route) =>
    required(routePoliciesView(index, rules, kri, route), `route ${route} on ${kri}`),
  );
  const effective = about('Inspect', EFFECTIVE, { query: NAMED_PAGE, answer: component('Effective') });
  app.get<{ Params: Params }>(`${DATAPLANE}/_effective`, effective, async (request): Promise<Answer<'Effective'>> => {
    const inspected = await proxyOf(context, request.params);
    const { proxy } = inspected;
    const { items, ...page } = pageOf(request, inspected.outbounds(), ({ resource }) => displayNameOf(resource));
    const [found = []] = (await proxyProblems(context, [proxy.resource])).values();
    const { caller, left } = callerWork(request);
    const { head, outbounds } = await context.queue.run(
      caller,
      withRules(inspected, (ruled) => effectiveSteps(ruled, items)),
      left,
    );
    const problems = [...found, ...dataplaneProblems(proxy.resource)];
    return { ...head, ...(problems.length > 0 && { problems }), outbounds, ...page };
  });
}

/** The rules of a proxy are one step, and what is shown of them others. */
function* withRules<T>(inspected: InspectedProxy, view: (ruled: Ruled) => Steps<T>): Steps<T> {
  const rules = buildRules(inspected.index, inspected.proxy);
  yield;
  return yield* view({ ...inspected, rules });
}

type EffectiveParts = Pick<Answer<'Effective'>, 'outbounds'> & { readonly head: ReturnType<typeof effectiveHead> };

function* effectiveSteps({ index, rules }: Ruled, shown: readonly Outbound[]): Steps<EffectiveParts> {
  const outbounds: EffectiveParts['outbounds'][number][] = [];
  for (const outbound of shown) outbounds.push(yield* effectiveOutboundView(index, rules, outbound));
  return { head: effectiveHead(rules), outbounds };
}
