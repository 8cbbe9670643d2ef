// A MeshHTTPRoute or MeshTCPRoute → the equivalent Gateway API document, for `get --format gateway-api`.
// Invariant: `parseRoute` accepts the result and converts it back to the same resource. A field that Gateway API cannot express is
// reported, never dropped.
import { collectViolations, type Refuse, type Violation } from '../base/violations.ts';
import { label } from '../resource/labels.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';
import { formatGatewayDuration, parseGoDuration } from './durations.ts';
import { Field } from './field.ts';
import { type InverseContext, toBackendRef, toParentRef } from './from-target-ref.ts';
import { NO_MIRROR_WEIGHT } from './parse-backends.ts';
import { parseRoute } from './parse-route.ts';
import type { Resolver } from './service-resolver.ts';
import { documentOf } from './stored-document.ts';

/** The weight of a backend without one (policies 1.4). */
const DEFAULT_WEIGHT = 1;

/** The part of a stored resource that the conversion reads. */
export type MeshResource = Pick<Resource, 'type' | 'mesh' | 'name' | 'labels' | 'spec'>;

export type GatewayDocument = { readonly document: JsonObject } | { readonly violations: readonly Violation[] };

/**
 * The inverse of `toMeshRoutes`, for one route.
 * @param options.timeout the MeshTimeout whose `to[]` names the route, if there is one
 * @param options.resolve finds the port of a service that the route names without a number
 * @returns the document, or every field that Gateway API cannot express
 */
export function fromMeshRoute(
  route: MeshResource,
  options: { readonly timeout?: MeshResource | undefined; readonly resolve?: Resolver | undefined } = {},
): GatewayDocument {
  if (route.type !== 'MeshHTTPRoute' && route.type !== 'MeshTCPRoute')
    return {
      violations: [{ field: 'type', reason: `must be MeshHTTPRoute or MeshTCPRoute, not ${JSON.stringify(route.type)}` }],
    };
  const isHttp = route.type === 'MeshHTTPRoute';
  const kind = isHttp ? 'HTTPRoute' : 'TCPRoute';
  const namespace = route.labels[label.namespace] || undefined;
  const context = { namespace, resolve: options.resolve };
  let spec: JsonObject | undefined;
  const violations = collectViolations((refuse) => {
    const item = onlyItem(new Field(route.spec, 'spec', refuse));
    const timeouts = options.timeout === undefined ? undefined : timeoutsOf(options.timeout, refuse);
    const parentRef = item === undefined ? undefined : toParentRef(item.at('targetRef'), context);
    const rules = item === undefined ? [] : isHttp ? httpRules(item, context, timeouts) : tcpRules(item, context);
    if (parentRef !== undefined) spec = { parentRefs: [parentRef], rules };
  });
  if (violations.length > 0 || spec === undefined) return { violations };
  const document = documentOf({ ...route, type: kind, spec, status: {} });
  // `apply` checks the document with the same rules.
  const parsed = parseRoute(document);
  return 'route' in parsed ? { document } : parsed;
}

/** The only `to[]` item, for all proxies of the mesh; a Gateway API route cannot express another form. */
function onlyItem(spec: Field): Field | undefined {
  spec.allowKeys(['targetRef', 'to']);
  const top = spec.at('targetRef');
  if (top.isGiven && (top.at('kind').value !== 'Mesh' || top.keys().length > 1))
    top.refuse('must be {kind: Mesh} or left out: an HTTPRoute cannot select proxies');
  const items = spec.at('to').items();
  const [item] = items;
  if (item === undefined || items.length > 1)
    return spec.at('to').refuse(`must have one item for an HTTPRoute, not ${String(items.length)}`);
  if (!item.isGiven || !item.isObject()) return item.refuse('must be an object');
  item.allowKeys(['targetRef', 'rules']);
  return item;
}

function httpRules(item: Field, context: InverseContext, timeouts: JsonObject | undefined): Json[] {
  return item
    .at('rules')
    .items()
    .map((rule): Json => {
      const conf = confOf(rule, ['matches', 'default'], ['filters', 'backendRefs']);
      const filters = conf
        .at('filters')
        .items()
        .map((filter) => filterOf(filter, context));
      const isRedirect = filters.some((filter) => filter['type'] === 'RequestRedirect');
      const backendRefs = isRedirect ? conf.at('backendRefs').items().map(literally) : backendsOf(item, conf, context);
      return {
        matches: rule.at('matches').items().map(literally),
        ...(filters.length > 0 && { filters }),
        ...(backendRefs.length > 0 && { backendRefs }),
        ...(timeouts !== undefined && { timeouts }),
      };
    });
}

/** Without rules, requests go to the target (policies 2.5). */
function tcpRules(item: Field, context: InverseContext): Json[] {
  const rules = item.at('rules').items();
  const [rule] = rules;
  if (rules.length > 1) item.at('rules').refuse(`must have at most one rule, not ${String(rules.length)}`);
  const conf = rule === undefined ? undefined : confOf(rule, ['default'], ['backendRefs']);
  return [{ backendRefs: backendsOf(item, conf, context) }];
}

function confOf(rule: Field, ruleKeys: readonly string[], confKeys: readonly string[]): Field {
  const conf = rule.at('default');
  if (rule.isObject()) rule.allowKeys(ruleKeys);
  if (conf.isObject()) conf.allowKeys(confKeys);
  return conf;
}

/** A rule without backends forwards to the target; an HTTPRoute must name it. */
function backendsOf(item: Field, conf: Field | undefined, context: InverseContext): Json[] {
  const given = conf?.at('backendRefs').items() ?? [];
  const backends = (given.length > 0 ? given : [item.at('targetRef')]).map((ref) => toBackendRef(ref, context));
  return backends.filter((backend) => backend !== undefined);
}

function filterOf(filter: Field, context: InverseContext): JsonObject {
  if (filter.at('type').value !== 'RequestMirror') return literally(filter);
  const mirror = filter.at('requestMirror');
  filter.allowKeys(['type', 'requestMirror']);
  mirror.allowKeys(['percentage', 'backendRef']);
  const backendRef = toMirrorRef(mirror.at('backendRef'), context);
  return {
    type: 'RequestMirror',
    requestMirror: { ...(backendRef !== undefined && { backendRef }), ...percentOf(mirror.at('percentage')) },
  };
}

/** Gateway API has no weight in a mirror. The one that the schema of MeshHTTPRoute adds says nothing and is left out. */
function toMirrorRef(ref: Field, context: InverseContext): JsonObject | undefined {
  const { weight, ...backend } = toBackendRef(ref, context) ?? {};
  if (weight !== undefined && weight !== DEFAULT_WEIGHT) return ref.at('weight').refuse(NO_MIRROR_WEIGHT);
  return 'kind' in backend ? backend : undefined;
}

/** An integer is a `percent`, a decimal a `fraction` of a power of ten. */
function percentOf(field: Field): JsonObject {
  if (!field.isGiven) return {};
  const text = String(field.value);
  const [, whole, decimals = ''] = /^([0-9]{1,3})(?:\.([0-9]{1,4}))?$/.exec(text) ?? [];
  if (whole === undefined) {
    field.refuse(`must be a percentage with at most four decimals, not ${field.shown}`);
    return {};
  }
  if (Number(decimals) === 0) return { percent: Number(whole) };
  return { fraction: { numerator: Number(`${whole}${decimals}`), denominator: 100 * 10 ** decimals.length } };
}

/** `timeouts` of every rule, because a MeshTimeout applies to the whole route. */
function timeoutsOf(timeout: MeshResource, refuse: Refuse): JsonObject | undefined {
  const conf = onlyTimeoutConf(new Field(timeout.spec, 'timeout.spec', refuse));
  if (conf === undefined) return undefined;
  conf.allowKeys(['http']);
  const request = conf.at('http').at('requestTimeout');
  conf.at('http').allowKeys(['requestTimeout']);
  const text = request.text();
  if (text === undefined) return undefined;
  const milliseconds = parseGoDuration(text);
  if (milliseconds === null) return request.refuse(`must be a duration of whole milliseconds, not ${request.shown}`);
  return { request: formatGatewayDuration(milliseconds) };
}

function onlyTimeoutConf(spec: Field): Field | undefined {
  const items = spec.at('to').items();
  const [item] = items;
  if (item === undefined || items.length > 1)
    return spec.at('to').refuse(`must have one item for an HTTPRoute, not ${String(items.length)}`);
  return item.at('default');
}

function literally(field: Field): JsonObject {
  return field.isObject() ? (field.value as JsonObject) : {};
}
