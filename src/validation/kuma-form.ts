// The form of a resource for a plain Kuma peer (D26; Kuma's form: policies 0 to 2, column K3).
// Pure and idempotent: input is never changed, and an unchanged value is returned as the same object.
import { isUtf8 } from 'node:buffer';
import type { WireResource } from '../resource/codec.ts';
import { label } from '../resource/labels.ts';
import { originOf, zoneNamed } from '../resource/ownership.ts';
import { decodableStatus, undecodable } from './undecodable.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { Json, JsonObject, Labels } from '../resource/types.ts';
import { withoutOlderKeys } from '../resource/older-keys.ts';
import { isObject } from '../resource/read-json.ts';
import { edit, find, path, without, type Path } from '../resource/spec-places.ts';
import { SERVICE_TYPES } from '../resource/type-registry.ts';

/**
 * The result for a plain Kuma peer: the same object if no translation is needed, a translated copy, or the reason why the resource
 * cannot be sent (D26).
 */
export type KumaForm = { readonly resource: WireResource } | { readonly withheld: string };

/** The reason why a Kuma peer cannot have a resource. @property instead what a person may write in its place */
export type Withheld = { readonly field: string; readonly reason: string; readonly instead?: string };

const SERVICES_AND_MESH = ['Mesh', ...SERVICE_TYPES];
const ROUTE_TOO = [...SERVICES_AND_MESH, 'MeshHTTPRoute'];

/** Kinds of the top-level targetRef (policies 1.2). */
const TOP_KINDS = ['Mesh', 'Dataplane'];

/** Kinds of `to[].targetRef` by policy (policies 1.2). */
const TO_KINDS = new Map<string, readonly string[]>([
  ['MeshHTTPRoute', SERVICE_TYPES],
  ['MeshTCPRoute', SERVICE_TYPES],
  ['MeshLoadBalancingStrategy', ROUTE_TOO],
  ['MeshAccessLog', ROUTE_TOO],
  ['MeshTimeout', ROUTE_TOO],
  ['MeshRetry', ROUTE_TOO],
  ['MeshCircuitBreaker', SERVICES_AND_MESH],
  ['MeshHealthCheck', SERVICES_AND_MESH],
  ['MeshFaultInjection', ['Mesh']],
  ['MeshRateLimit', ['Mesh']],
]);

/** Kinds that are named by labels alone (policies 1.1, 2.4). */
const LABEL_KINDS = new Set([...SERVICE_TYPES, 'MeshHTTPRoute', 'Dataplane', 'MeshOpenTelemetryBackend']);

/** Policies that Kuma refuses without a section that it reads (policies 1.2). */
const NEEDS_SECTION = new Set(['MeshTimeout', 'MeshAccessLog', 'MeshCircuitBreaker', 'MeshRateLimit', 'MeshTrafficPermission']);

const TOP_REF = path('targetRef');
const TO_REF = path('to.*.targetRef');
const BACKEND_REFS = [
  path('to.*.rules.*.default.backendRefs.*'),
  path('to.*.rules.*.default.filters.*.requestMirror.backendRef'),
];
const OPEN_TELEMETRY = ['to.*.', 'rules.*.', ''].map((section) => path(`${section}default.backends.*.openTelemetry`));
/** Policies whose backends name a MeshOpenTelemetryBackend. */
const HAS_COLLECTORS = new Set(['MeshAccessLog', 'MeshTrace', 'MeshMetric']);
const HASH_POLICIES = ['', 'loadBalancer.ringHash.', 'loadBalancer.maglev.'].map((at) =>
  path(`to.*.default.${at}hashPolicies.*`),
);
const MATCHES = ['matches', 'default.allow', 'default.deny', 'default.allowWithShadowDeny'].map((at) => path(`rules.*.${at}.*`));
const ROUTES = new Set(['MeshHTTPRoute', 'MeshTCPRoute']);

/** Certificates and keys of a MeshExternalService (policies 2.8). */
const TLS_SOURCES = ['caCert', 'clientCert', 'clientKey'].map((key) => path(`tls.verification.${key}`));

/** The struct of `loadBalancer` that a balancer's type uses (policies 2.3). */
const BALANCERS: ReadonlyMap<Json | undefined, string> = new Map([
  ['RingHash', 'ringHash'],
  ['Maglev', 'maglev'],
]);

/** `spiffeId` is an alias (D23). */
const SPIFFE_KEYS = ['spiffeID', 'spiffeId'];

/**
 * Translates a resource for a peer without Meridian's capability (D26). A spec that a Go program cannot decode is withheld, because it
 * would end the stream of the peer; such fields of a status are removed. Never throws.
 * @returns the resource itself when nothing changes, so that encoded bytes can be shared; else a copy, or one sentence that
 * names the field
 */
export function toKumaForm(info: TypeInfo, resource: WireResource): KumaForm {
  const { spec, status } = resource;
  const [reason] = reasonsWithheld(info, spec);
  if (reason !== undefined) return { withheld: sentenceOf(reason) };
  const translated = translate(info, resource);
  const decodable = status && decodableStatus(info.name, status);
  const isSame = translated === spec && decodable === status;
  return { resource: isSame ? resource : { ...resource, spec: translated, status: decodable } };
}

/** Every reason why a resource cannot be translated. */
export function reasonsWithheld(info: TypeInfo, spec: JsonObject): Withheld[] {
  const broken = undecodable(info.name, spec);
  if (broken !== null) return [broken];
  if (info.policy !== null) return [...policyReasons(info, spec)];
  if (info.name === 'Dataplane') return [...dataplaneReasons(spec)];
  return info.name === 'MeshExternalService' ? [...externalServiceReasons(spec)] : [];
}

function sentenceOf({ field, reason, instead }: Withheld): string {
  return `${field}: ${reason}${instead === undefined ? '' : `; write ${instead}`}`;
}

/** Returns the same spec if nothing changes. */
function translate(info: TypeInfo, resource: WireResource): JsonObject {
  const { spec } = resource;
  if (info.policy !== null) return translatePolicy(info, resource);
  if (info.name === 'Dataplane') return translateDataplane(spec);
  return info.name === 'MeshExternalService' ? translateExternalService(spec) : spec;
}

/**
 * The reason why a policy cannot be sent: Kuma would refuse it, or silently apply it too broadly (policies 0). Keys of Kuma 2.x are no
 * reason: a Kuma global reads over them in its own rows, and its zones have the rest (decision 22).
 */
function* policyReasons(info: TypeInfo, spec: JsonObject): Generator<Withheld> {
  yield* refusedKinds(spec, TOP_REF, TOP_KINDS, `at the top of a ${info.name}`, 'kind Dataplane with labels');
  yield* refusedKinds(spec, TO_REF, TO_KINDS.get(info.name), `in to[] of a ${info.name}`, 'one of these');
  if (NEEDS_SECTION.has(info.name) && hasItems(spec['from']) && !hasItems(spec['to']) && !hasItems(spec['rules']))
    yield {
      field: 'spec.from',
      reason: `Kuma has no from, and takes no ${info.name} without another section`,
      instead: 'spec.rules instead',
    };
  if (ROUTES.has(info.name)) for (const at of BACKEND_REFS) yield* backendReasons(spec, at);
  if (info.name === 'MeshLoadBalancingStrategy') yield* loadBalancingReasons(spec);
  if (HAS_COLLECTORS.has(info.name)) {
    for (const { name, value } of OPEN_TELEMETRY.flatMap((at) => find(spec, [...at, 'endpoint'])))
      if (isGiven(value)) yield { field: name, reason: 'Kuma has no endpoint', instead: 'backendRef instead' };
  }
  if (info.name === 'MeshTrafficPermission') {
    for (const { name, value } of find(spec, path('rules.*.matches')))
      if (hasItems(value))
        yield {
          field: name,
          reason: 'Kuma takes matches inside default alone and would apply the rule to every request',
          instead: 'default.allow or default.deny',
        };
  }
}

/** Kinds and ports of backendRefs (policies 1.4). */
function* backendReasons(spec: JsonObject, at: Path): Generator<Withheld> {
  yield* refusedKinds(spec, at, SERVICE_TYPES, 'as a backend', 'one of these');
  for (const { name, value } of find(spec, at)) {
    if (isObject(value) && value['kind'] === 'MeshMultiZoneService' && !isGiven(value['port']))
      yield {
        field: `${name}.port`,
        reason: 'Kuma takes no MeshMultiZoneService as a backend without a port',
        instead: 'the port',
      };
  }
}

/**
 * The reasons in a MeshLoadBalancingStrategy: `crossZone` beside labels, which every MeshService reference becomes, and hash
 * policies of type SourceIP (policies 2.3).
 */
function* loadBalancingReasons(spec: JsonObject): Generator<Withheld> {
  for (const { name, value } of find(spec, path('to.*'))) {
    const isService = find(value, path('targetRef.kind')).some((kind) => kind.value === 'MeshService');
    if (isService && find(value, path('default.localityAwareness.crossZone')).some((conf) => isGiven(conf.value)))
      yield {
        field: `${name}.default.localityAwareness.crossZone`,
        reason: 'Kuma names a MeshService by labels and takes no crossZone beside them',
        instead: 'it for a MeshMultiZoneService',
      };
  }
  for (const { name, value } of HASH_POLICIES.flatMap((at) => find(spec, [...at, 'type'])))
    if (value === 'SourceIP') yield { field: name, reason: 'Kuma has no SourceIP', instead: 'Connection instead' };
}

function* refusedKinds(
  spec: JsonObject,
  at: Path,
  kinds: readonly string[] | undefined,
  where: string,
  instead: string,
): Generator<Withheld> {
  if (kinds === undefined) return;
  for (const { name, value } of find(spec, [...at, 'kind'])) {
    if (typeof value === 'string' && value !== '' && !kinds.includes(value))
      yield { field: name, reason: `Kuma takes ${kinds.join(', ')} ${where}, not ${JSON.stringify(value)}`, instead };
  }
}

/** Kuma cannot use a Dataplane that has only zone sections; it needs an address (D17, D18). */
function* dataplaneReasons(spec: JsonObject): Generator<Withheld> {
  const networking = spec['networking'];
  if (!isObject(networking)) return;
  const { zoneIngress, zoneEgress, inbound, listeners, gateway, address } = networking;
  if (!isObject(zoneIngress) && !isObject(zoneEgress)) return;
  if (hasItems(inbound) || hasItems(listeners) || isGiven(gateway) || (isGiven(address) && address !== '')) return;
  yield {
    field: 'networking.address',
    reason: 'Kuma needs one, and knows neither zoneIngress nor zoneEgress, the only sections given',
  };
}

function translatePolicy(info: TypeInfo, { labels, spec: stored }: WireResource): JsonObject {
  const home = homeOfGuest(labels);
  const given = withoutOlderKeys(info, stored);
  const spec = home === null ? given : forGuest(given, home, labels[label.namespace]);
  const byLabels = (ref: Json): Json => nameToLabels(ref, labels[label.namespace]);
  let form = isGiven(spec['targetRef']) ? spec : { ...spec, targetRef: { kind: 'Mesh' } };
  form = edit(form, TOP_REF, byLabels);
  form = edit(form, TO_REF, byLabels);
  if (ROUTES.has(info.name)) for (const at of BACKEND_REFS) form = edit(form, at, byLabels);
  if (HAS_COLLECTORS.has(info.name))
    for (const at of OPEN_TELEMETRY) form = edit(form, [...at, 'backendRef'], (ref) => nameToLabels(ref, undefined));
  if (info.name === 'MeshLoadBalancingStrategy') form = edit(form, path('to.*.default'), hashPoliciesToRoot);
  if (info.policy?.rules === true)
    for (const at of MATCHES) for (const key of SPIFFE_KEYS) form = edit(form, [...at, key], trimPrefix);
  return form;
}

/**
 * The zone of a producer policy that global sends to other zones; null for any other policy. There the policy applies only to services
 * of its own zone. Kuma does not know this rule: it applies the policy to services of that name in every zone (MADR 063).
 */
function homeOfGuest(labels: Labels): string | null {
  return originOf(labels) === 'global' && labels[label.policyRole] === 'producer' ? (zoneNamed(labels) ?? null) : null;
}

/** The part of a guest's policy that applies: its targets are narrowed to their zone, and sections for inbounds are left out. */
function forGuest(spec: JsonObject, home: string, ownNamespace: string | undefined): JsonObject {
  return edit(without(spec, ['rules']), TO_REF, (ref) => {
    const byLabels = nameToLabels(ref, ownNamespace);
    if (!isObject(byLabels) || !isObject(byLabels['labels']) || isGiven(byLabels['labels'][label.zone])) return byLabels;
    return { ...byLabels, labels: { ...byLabels['labels'], [label.zone]: home } };
  });
}

/** Leaves out fields 1010 and 1011, and inbound tags (D15, D17). */
function translateDataplane(spec: JsonObject): JsonObject {
  const flat = edit(spec, path('networking'), (networking) => without(networking, ['zoneIngress', 'zoneEgress']));
  return edit(flat, path('networking.inbound.*'), (inbound) => without(inbound, ['tags']));
}

/** Sources of certificates that have no `type`, and can be given none (policies 2.8). */
function* externalServiceReasons(spec: JsonObject): Generator<Withheld> {
  for (const { name, value } of TLS_SOURCES.flatMap((at) => find(spec, at))) {
    if (isObject(value) && !isGiven(typedSource(value)['type']))
      yield { field: name, reason: 'Kuma takes type Secret with secretRef, or type InsecureInline with insecureInline' };
  }
}

/** Older forms of sources become those with a type (policies 2.8). */
function translateExternalService(spec: JsonObject): JsonObject {
  return TLS_SOURCES.reduce((form, at) => edit(form, at, (source) => (isObject(source) ? typedSource(source) : source)), spec);
}

/** `{secret}`, `{inline}` or `{inlineString}` with a type, or the source itself. */
function typedSource(source: JsonObject): JsonObject {
  const { type, secret, inline, inlineString } = source;
  const [only, ...others] = [secret, inline, inlineString].filter((value) => value !== undefined);
  if (isGiven(type) || typeof only !== 'string' || only === '' || others.length > 0) return source;
  const rest = without(source, ['secret', 'inline', 'inlineString']);
  if (secret !== undefined) return { ...rest, type: 'Secret', secretRef: { kind: 'Secret', name: only } };
  const value = inline === undefined ? only : textOfBase64(only);
  return value === null ? source : { ...rest, type: 'InsecureInline', insecureInline: { value } };
}

/** The text, or null where it is no base64 of UTF-8. */
function textOfBase64(base64: string): string | null {
  const bytes = Buffer.from(base64, 'base64');
  const isCanonical = unpadded(bytes.toString('base64')) === unpadded(base64.replace(/\s/g, ''));
  return isCanonical && bytes.length > 0 && isUtf8(bytes) ? bytes.toString('utf8') : null;
}

/** Base64 without the padding at its end. */
function unpadded(base64: string): string {
  let end = base64.length;
  while (end > 0 && base64[end - 1] === '=') end -= 1;
  return base64.slice(0, end);
}

/** Turns a name into labels. A name without a namespace means the policy's own namespace, if that has one (D8). */
function nameToLabels(ref: Json, ownNamespace: string | undefined): Json {
  if (!isObject(ref) || typeof ref['kind'] !== 'string' || !LABEL_KINDS.has(ref['kind'])) return ref;
  const { name, namespace, labels, ...rest } = ref;
  const isBare = !isGiven(labels) || (isObject(labels) && Object.keys(labels).length === 0);
  if (!isBare || typeof name !== 'string' || name === '') return ref;
  if (isGiven(namespace) && typeof namespace !== 'string') return ref;
  const place = namespace || ownNamespace;
  return { ...rest, labels: { [label.displayName]: name, ...(place && { [label.namespace]: place }) } };
}

/**
 * Moves the list of the balancer in use to the root unless one is there, and leaves out lists that take no effect (policies 5).
 */
function hashPoliciesToRoot(conf: Json): Json {
  if (!isObject(conf) || !isObject(conf['loadBalancer']) || !isGiven(conf['loadBalancer']['type'])) return conf;
  const inUse = BALANCERS.get(conf['loadBalancer']['type']);
  let form = conf;
  for (const balancer of BALANCERS.values()) {
    const list = find(conf, ['loadBalancer', balancer, 'hashPolicies'])[0]?.value;
    if (!Array.isArray(list)) continue;
    form = edit(form, ['loadBalancer', balancer], (struct) => without(struct, ['hashPolicies']));
    if (balancer === inUse && !isGiven(conf['hashPolicies'])) form = { ...form, hashPolicies: list };
  }
  return form;
}

/** `spiffe://domain/` → `spiffe://domain` in a Prefix (D23). */
function trimPrefix(matcher: Json): Json {
  if (!isObject(matcher) || matcher['type'] !== 'Prefix') return matcher;
  return edit(matcher, ['value'], (value) =>
    typeof value === 'string' && /^spiffe:\/\/.*[^/]\/$/.test(value) ? value.slice(0, -1) : value,
  );
}

function hasItems(value: Json | undefined): boolean {
  return Array.isArray(value) && value.length > 0;
}

function isGiven(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null;
}
