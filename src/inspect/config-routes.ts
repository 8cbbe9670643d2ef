// The configuration of a proxy as its zone sends it, and as it would be with shadow policies in force (rest-api 4). Global and the zone
// give the same answer, because the features of the proxy are in its insight.
import type { FastifyInstance } from 'fastify';
import type { ApiContext } from '../api/api-options.ts';
import type { Answer } from '../answers/answers.ts';
import { ApiError, badQuery } from '../http/error-body.ts';
import { diffSteps } from '../document/json-diff.ts';
import { callerWork } from '../http/caller-work.ts';
import type { Steps } from '../base/steps.ts';
import { about, component } from '../http/route-config.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { parseSteps } from '../policy/parse-steps.ts';
import { label } from '../resource/labels.ts';
import { objectOf } from '../resource/read-json.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import { lasting } from '../xds/lasting-chains.ts';
import { listedOutbounds } from '../xds/listed-outbounds.ts';
import { configSteps, contextOf } from '../xds/proxy-config.ts';
import { routeSteps } from '../xds/route-steps.ts';
import { proxyFeatures, type ProxyFeatures } from '../xds/proxy-features.ts';
import { proxyOf, type InspectContext } from './inspect-context.ts';

type Asked = {
  Params: { readonly mesh: string; readonly name: string };
  Querystring: { readonly shadow?: string; readonly include?: string };
};

const TYPES = [
  ['clusters', 'type.googleapis.com/envoy.config.cluster.v3.Cluster'],
  ['assignments', 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment'],
  ['listeners', 'type.googleapis.com/envoy.config.listener.v3.Listener'],
  ['filters', 'type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig'],
  ['routes', 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration'],
  ['secrets', 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret'],
] as const;

export function addConfigRoute(app: FastifyInstance, context: InspectContext & Pick<ApiContext, 'callers' | 'queue'>): void {
  const summary = 'The configuration of a proxy, with shadow policies or without, and the difference';
  const declared = about('Inspect', summary, { query: ['shadow', 'include'], answer: component('ProxyConfig') });
  app.get<Asked>('/meshes/:mesh/dataplanes/:name/_config', declared, async (request): Promise<Answer<'ProxyConfig'>> => {
    context.callers.require('viewConfigDump', request);
    const { shadow = 'false', include = '' } = request.query;
    if (!['true', 'false'].includes(shadow)) throw badQuery('shadow', 'must be true or false');
    if (!['', 'diff'].includes(include)) throw badQuery('include', 'must be diff');
    const { index, proxy } = await proxyOf(context, request.params, 'Could not get dataplane resource');
    const features = await featuresOf(context, proxy.resource);
    const { caller, left } = callerWork(request);
    const options = { hasShadows: shadow === 'true', hasDiff: include === 'diff' };
    return await context.queue.run(caller, answerSteps(index, proxy.resource.name, features, options), left);
  });
}

function* answerSteps(
  index: MeshIndex,
  name: string,
  features: ProxyFeatures,
  { hasShadows, hasDiff }: { readonly hasShadows: boolean; readonly hasDiff: boolean },
): Steps<Answer<'ProxyConfig'>> {
  if (!hasShadows) return { xds: yield* configOf(index, name, features), ...(hasDiff && { diff: [] }) };
  // Both are of the same rows: a write meanwhile is no part of the difference.
  const rows = index.allResources();
  const xds = yield* configOf(yield* copyOf(index, rows.map(inForce)), name, features);
  if (!hasDiff) return { xds };
  return { xds, diff: yield* diffSteps(yield* configOf(yield* copyOf(index, rows), name, features), xds) };
}

/** @throws ApiError 409 for a proxy of unknown features: the configuration would be that of another proxy */
async function featuresOf({ insights }: Pick<InspectContext, 'insights'>, dataplane: Resource): Promise<ProxyFeatures> {
  const { rowOf, whyUnknown } = await insights.of([dataplane]);
  const why = whyUnknown(dataplane);
  if (why !== '') throw new ApiError('conflict', 'Could not get the configuration of the proxy', why);
  return proxyFeatures(objectOf(rowOf(dataplane)?.spec['metadata']), dataplane);
}

/** Resources by type URL and name. */
function* configOf(index: MeshIndex, name: string, features: ProxyFeatures): Steps<JsonObject> {
  const proxy = index.proxy(name);
  if (proxy === undefined) return {};
  const context = contextOf(index, proxy, features);
  yield;
  for (const { outbound } of listedOutbounds(index, proxy, context.resolver).byKri.values()) {
    yield* routeSteps(context, outbound, () => undefined);
    yield;
  }
  const config = lasting(yield* configSteps(context));
  const shown = [...config.keys].map(([secret, pair]): [string, JsonObject] => [secret, pair.toShown(secret)]);
  const resources = { ...config, secrets: [...config.secrets, ...shown] };
  return Object.fromEntries(
    TYPES.map(([key, url]) => [url, Object.fromEntries([...resources[key]].sort(([a], [b]) => (a < b ? -1 : 1)))]),
  );
}

function* copyOf(index: MeshIndex, rows: readonly Resource[]): Steps<MeshIndex> {
  const copy = index.emptyCopy();
  for (const row of rows) {
    // The index has read its own rows.
    if (index.get(row.type, row.name) !== row) yield* parseSteps(row);
    copy.put(row);
    yield;
  }
  return copy;
}

/** A shadow policy as one that has its effect. Other rows as they are. */
function inForce(row: Resource): Resource {
  const { [label.effect]: effect, ...labels } = row.labels;
  return effect === 'shadow' ? { ...row, labels } : row;
}
