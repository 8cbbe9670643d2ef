// From a policy or a service to proxies: `_resources/dataplanes`, `dataplanes`, `_reach`, `_dataplanes` (rest-api 4, policies 8).
import type { FastifyInstance } from 'fastify';
import { policyDataplanesView, serviceDataplanesView } from '../policy/inspect-view.ts';
import { policyReach } from '../policy/policy-reach.ts';
import { textOf } from '../resource/read-json.ts';
import { isServiceType, resourceTypes } from '../resource/type-registry.ts';
import { describeKey, type JsonObject } from '../resource/types.ts';
import { indexOf, required, type InspectContext } from './inspect-context.ts';
import { pageOf } from './paging.ts';
import { attachedView, reachHead, touchedView } from './reach-view.ts';

/** Kuma says so of a service too. */
const NO_POLICY = 'Could not retrieve policy';

type Named = { Params: { mesh: string; name: string } };

export function addReachRoutes(app: FastifyInstance, context: InspectContext): void {
  for (const { name: type, path, policy } of resourceTypes) {
    if (policy !== null) addPolicy(app, context, type, path);
    if (isServiceType(type)) addService(app, context, type, path);
  }
}

function addPolicy(app: FastifyInstance, context: InspectContext, type: string, path: string): void {
  app.get<Named>(`/meshes/:mesh/${path}/:name/_resources/dataplanes`, async (request) => {
    const { mesh, name } = request.params;
    const index = await indexOf(context, mesh);
    const policy = required(index.policy(type, name), describeKey({ type, mesh, name }), NO_POLICY);
    return pageOf(request, policyDataplanesView(index, policy), nameOf);
  });
  app.get<Named>(`/meshes/:mesh/${path}/:name/_reach`, async (request) => {
    const { mesh, name } = request.params;
    const index = await indexOf(context, mesh);
    const policy = required(index.policy(type, name), describeKey({ type, mesh, name }), NO_POLICY);
    const reach = policyReach(index, policy);
    const { items, ...page } = pageOf(request, reach.touched, ({ proxy }) => proxy.displayName);
    return { ...reachHead(reach), touched: items.map(touchedView), ...page };
  });
  app.get<Named>(`/meshes/:mesh/${path}/:name/dataplanes`, async ({ params: { mesh, name } }) => {
    const index = await indexOf(context, mesh);
    const policy = required(index.policy(type, name), describeKey({ type, mesh, name }), NO_POLICY);
    const items = policyReach(index, policy).touched.map(attachedView);
    return { total: items.length, items };
  });
}

function addService(app: FastifyInstance, context: InspectContext, type: string, path: string): void {
  app.get<Named>(`/meshes/:mesh/${path}/:name/_dataplanes`, async (request) => {
    const { mesh, name } = request.params;
    const index = await indexOf(context, mesh);
    const service = required(index.get(type, name), describeKey({ type, mesh, name }), NO_POLICY);
    return pageOf(request, serviceDataplanesView(index, service), nameOf);
  });
}

function nameOf(meta: JsonObject): string {
  return textOf(meta['name']);
}
