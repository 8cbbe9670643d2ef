// The effective policies of one proxy: `GET /meshes/{mesh}/dataplanes/{name}/…` (rest-api 4, policies 8).
import type { FastifyInstance } from 'fastify';
import type { Answer } from '../api/answers.ts';
import { about, component, NAMED_PAGE } from '../api/route-config.ts';
import {
  inboundPoliciesView,
  layoutView,
  outboundPoliciesView,
  policiesView,
  routePoliciesView,
  routesView,
} from '../policy/inspect-view.ts';
import { outboundsOf } from '../policy/outbounds.ts';
import { rulesView } from '../policy/rules-view.ts';
import { displayNameOf } from '../resource/labels.ts';
import { attachedPoliciesView } from './attached-policies-view.ts';
import { effectiveHead, effectiveOutboundView } from './effective-view.ts';
import { proxyOf, required, requireKri, type InspectContext, type InspectedProxy } from './inspect-context.ts';
import { pageOf } from './paging.ts';
import { proxyProblems } from './proxy-problems.ts';

type Params = { readonly mesh: string; readonly name: string; readonly kri?: string; readonly route?: string };
type View = (proxy: InspectedProxy, kri: string, route: string) => object;

const DATAPLANE = '/meshes/:mesh/dataplanes/:name';
const EFFECTIVE = 'The effective conf of each outbound and route, with the origin of each value';

export function addProxyRoutes(app: FastifyInstance, context: InspectContext): void {
  const get = (path: string, summary: string, view: View, title?: string): void => {
    app.get<{ Params: Params }>(`${DATAPLANE}/${path}`, about('Inspect', summary), async ({ params }) => {
      const [kri, route] = [params.kri, params.route].map((part) => (part === undefined ? '' : requireKri(part, params.mesh)));
      return view(await proxyOf(context, params, title), kri ?? '', route ?? '');
    });
  };
  get('_rules', 'All rules of a proxy, by type and resource', ({ rules }) => rulesView(rules));
  get('_policies', 'Policies about the whole proxy', ({ rules }) => policiesView(rules));
  const attached: View = ({ index, rules }) => attachedPoliciesView(index, rules);
  get('policies', 'Deprecated: the policies that are attached to a proxy', attached, 'Could not get MatchedPolicies');
  const layout: View = ({ index, proxy }) => layoutView(index, proxy);
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
    const { index, proxy, rules } = await proxyOf(context, request.params);
    const { items, ...page } = pageOf(request, outboundsOf(index, proxy), ({ resource }) => displayNameOf(resource));
    const outbounds = items.map((outbound) => effectiveOutboundView(index, rules, outbound));
    const [problems] = (await proxyProblems(context, [proxy.resource])).values();
    return { ...effectiveHead(rules), ...(problems !== undefined && { problems: [...problems] }), outbounds, ...page };
  });
}
