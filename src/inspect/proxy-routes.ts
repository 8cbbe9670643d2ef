// The effective policies of one proxy: `GET /meshes/{mesh}/dataplanes/{name}/…` (rest-api 4, policies 8).
import type { FastifyInstance } from 'fastify';
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
import { proxyOf, required, requireKri, type InspectContext } from './inspect-context.ts';
import { pageOf } from './paging.ts';

type Proxy = { Params: { mesh: string; name: string } };
type ProxyPart = { Params: { mesh: string; name: string; kri: string } };
type ProxyRoute = { Params: { mesh: string; name: string; kri: string; route: string } };

const DATAPLANE = '/meshes/:mesh/dataplanes/:name';

export function addProxyRoutes(app: FastifyInstance, context: InspectContext): void {
  app.get<Proxy>(`${DATAPLANE}/_rules`, async ({ params }) => rulesView((await proxyOf(context, params)).rules));
  app.get<Proxy>(`${DATAPLANE}/_policies`, async ({ params }) => policiesView((await proxyOf(context, params)).rules));
  app.get<Proxy>(`${DATAPLANE}/policies`, async ({ params }) => {
    const { index, rules } = await proxyOf(context, params, 'Could not get MatchedPolicies');
    return attachedPoliciesView(index, rules);
  });
  app.get<Proxy>(`${DATAPLANE}/_layout`, async ({ params }) => {
    const { index, proxy } = await proxyOf(context, params, 'Failed to retrieve Dataplane');
    return layoutView(index, proxy);
  });
  app.get<Proxy>(`${DATAPLANE}/_effective`, async (request) => {
    const { index, proxy, rules } = await proxyOf(context, request.params);
    const { items, ...page } = pageOf(request, outboundsOf(index, proxy), ({ resource }) => displayNameOf(resource));
    return {
      ...effectiveHead(rules),
      outbounds: items.map((outbound) => effectiveOutboundView(index, rules, outbound)),
      ...page,
    };
  });
  app.get<ProxyPart>(`${DATAPLANE}/_inbounds/:kri/_policies`, async ({ params }) => {
    const kri = requireKri(params.kri, params.mesh);
    const { rules } = await proxyOf(context, params);
    return required(inboundPoliciesView(rules, kri), `inbound ${kri} of this Dataplane`);
  });
  app.get<ProxyPart>(`${DATAPLANE}/_outbounds/:kri/_policies`, async ({ params }) => {
    const kri = requireKri(params.kri, params.mesh);
    const { index, rules } = await proxyOf(context, params);
    return required(outboundPoliciesView(index, rules, kri), `service or port ${kri}`);
  });
  app.get<ProxyPart>(`${DATAPLANE}/_outbounds/:kri/_routes`, async ({ params }) => {
    const kri = requireKri(params.kri, params.mesh);
    const { index, rules } = await proxyOf(context, params);
    return required(routesView(index, rules, kri), `service or port ${kri}`);
  });
  app.get<ProxyRoute>(`${DATAPLANE}/_outbounds/:kri/_routes/:route/_policies`, async ({ params }) => {
    const kri = requireKri(params.kri, params.mesh);
    const route = requireKri(params.route, params.mesh);
    const { index, rules } = await proxyOf(context, params);
    return required(routePoliciesView(index, rules, kri, route), `route ${route} on ${kri}`);
  });
}
