// Parses a policy once when it enters the index: its identity, origin, targets and items. Invariant: for every stored spec, each
// conf is free of nulls and each field has a value.
import { kriOf } from '../resource/kri.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { originOf, zoneNamed } from '../resource/ownership.ts';
import type { PolicyRole } from '../resource/policy-role.ts';
import { completeSpec } from '../validation/complete-spec.ts';
import { CLIENT_LISTS } from '../policies/mesh-traffic-permission/spec.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { Json, JsonObject, Labels, Resource } from '../resource/types.ts';
import { withoutNulls } from './merge-conf.ts';
import { isObject, objectOf, objectsOf } from '../resource/read-json.ts';
import { targetRefOf, type TargetRef } from './target-ref.ts';

/** The zone and namespace of a resource; names resolve there first (D8). */
export type Place = { readonly zone: string; readonly namespace: string };

export type Policy = Place & {
  readonly resource: Resource;
  readonly type: string;
  readonly kri: string;
  readonly displayName: string;
  readonly origin: string;
  /** Label `kuma.io/policy-role`, absent = system (policies 1.6). */
  readonly role: PolicyRole;
  /** Label `kuma.io/effect: shadow`: the policy has no effect. */
  readonly isShadow: boolean;
  /** Label `kuma.io/kds-sync: disabled`: the policy is not synced (kds-wire 5.2.1). */
  readonly isHomebound: boolean;
  readonly targetRef: TargetRef;
  readonly to: readonly ToItem[];
  readonly rules: readonly RuleItem[];
  readonly from: readonly FromItem[];
  /** `spec.default` of a policy about the whole proxy (MeshTrace, MeshProxyPatch …), else null. */
  readonly conf: JsonObject | null;
  /** Rises with every version that is read, and so distinguishes versions of a policy. */
  readonly serial: number;
};

type Item = {
  readonly policy: Policy;
  /** The position in its section. */
  readonly index: number;
  readonly conf: JsonObject;
};
/** One `to[]` entry; the conf of a Mesh*Route's entry is its `rules` and `hostnames`. */
export type ToItem = Item & { readonly targetRef: TargetRef };
/** One `rules[]` entry; no match means every request. Every `spiffeId` is spelled `spiffeID` here (D23). */
export type RuleItem = Item & { readonly matches: readonly JsonObject[] };
/** One `from[]` entry, the old form. */
export type FromItem = Item & { readonly targetRef: TargetRef };

const ROLES: ReadonlySet<string> = new Set<PolicyRole>(['system', 'producer', 'consumer', 'workload-owner']);
const ROUTE_TYPES: ReadonlySet<string> = new Set(['MeshHTTPRoute', 'MeshTCPRoute']);

/** The configuration of these types is shared by all clients, so a match has no effect. */
const WITHOUT_MATCHES: ReadonlySet<string> = new Set(['MeshCircuitBreaker', 'MeshTLS']);

/** Kinds of targetRef that mean a route. */
export function isRouteKind(kind: string): boolean {
  return ROUTE_TYPES.has(kind);
}

/** Zone and namespace labels of a resource, `''` for missing ones. */
export function placeOf(resource: { labels: Labels }): Place {
  return { zone: zoneNamed(resource.labels) ?? '', namespace: resource.labels[label.namespace] ?? '' };
}

/** Reads a policy, with the defaults of its schema. Wrong shapes, and sections that the type does not have, are read as empty (D7). */
export function parsePolicy(resource: Resource, serial: number): Policy {
  const { labels } = resource;
  const spec = completeSpec(resource.type, resource.spec);
  const has = typeOf(resource.type).policy ?? { to: false, rules: false };
  const role = labels[label.policyRole] ?? '';
  const to: ToItem[] = [];
  const rules: RuleItem[] = [];
  const from: FromItem[] = [];
  const policy: Policy = {
    ...placeOf(resource),
    resource,
    type: resource.type,
    kri: kriOf(resource) ?? '',
    displayName: displayNameOf(resource),
    origin: originOf(labels) ?? '',
    role: isRole(role) ? role : 'system',
    isShadow: labels[label.effect] === 'shadow',
    isHomebound: labels[label.kdsSync] === 'disabled',
    targetRef: targetRefOf(spec['targetRef']),
    to,
    rules,
    from,
    conf: !has.to && !has.rules && isObject(spec['default']) ? withoutNulls(spec['default']) : null,
    serial,
  };
  for (const [index, item] of itemsOf(has.to ? spec['to'] : undefined))
    to.push({ policy, index, targetRef: targetRefOf(item['targetRef']), conf: withoutNulls(toConf(resource.type, item)) });
  const takesMatches = !WITHOUT_MATCHES.has(resource.type);
  for (const [index, item] of itemsOf(has.rules ? spec['rules'] : undefined))
    rules.push({
      policy,
      index,
      matches: takesMatches ? objectsOf(item['matches']).map((match) => canonicalMatch(withoutNulls(match))) : [],
      conf: canonicalConf(resource.type, withoutNulls(objectOf(item['default']))),
    });
  for (const [index, item] of itemsOf(has.rules ? spec['from'] : undefined))
    from.push({ policy, index, targetRef: targetRefOf(item['targetRef']), conf: withoutNulls(objectOf(item['default'])) });
  return policy;
}

/** The conf of a `rules[]` entry. That of a MeshTrafficPermission is lists of matches (policies 2.6). */
function canonicalConf(type: string, conf: JsonObject): JsonObject {
  if (type !== 'MeshTrafficPermission') return conf;
  const read = { ...conf };
  for (const key of CLIENT_LISTS) {
    const list = conf[key];
    if (Array.isArray(list)) read[key] = list.map((item) => (isObject(item) ? canonicalMatch(item) : item));
  }
  return read;
}

/** A match with `spiffeID` in place of its alias (D23). A match with both is left as it is: a check refuses it. */
function canonicalMatch({ spiffeId, ...match }: JsonObject): JsonObject {
  if (spiffeId === undefined) return match;
  return match['spiffeID'] === undefined ? { spiffeID: spiffeId, ...match } : { ...match, spiffeId };
}

function toConf(type: string, { rules, hostnames, default: conf }: JsonObject): JsonObject {
  if (!isRouteKind(type)) return objectOf(conf);
  return { rules: [...objectsOf(rules)], ...(Array.isArray(hostnames) && hostnames.length > 0 && { hostnames }) };
}

/** The entries with their positions in the spec. */
function itemsOf(section: Json | undefined): [number, JsonObject][] {
  return Array.isArray(section)
    ? [...section.entries()].filter((entry): entry is [number, JsonObject] => isObject(entry[1]))
    : [];
}

function isRole(text: string): text is PolicyRole {
  return ROLES.has(text);
}
