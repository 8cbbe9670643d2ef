// Prefixes of SPIFFE IDs in a policy that end inside a segment and fit more clients than their last segment names. Envoy compares a prefix as
// text, so `…/app/c` fits `…/app/cl` too (decision 120). Pure.
import type { Steps } from '../base/steps.ts';
import { isObject, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import { CLIENT_LISTS } from '../policies/mesh-traffic-permission/spec.ts';
import type { JsonObject, Resource } from '../resource/types.ts';
import type { MeshIndex } from './mesh-index.ts';
import { proxyIdentity } from './proxy-identity.ts';

/** The types of policies that match clients by SPIFFE ID. */
export const CLIENT_MATCHING_TYPES = [
  'MeshTrafficPermission',
  'MeshTimeout',
  'MeshRateLimit',
  'MeshFaultInjection',
  'MeshAccessLog',
] as const;

/** @property field in the document @property reason with the clients that it fits too */
export type WidePrefix = { readonly field: string; readonly reason: string };

type Prefix = { readonly field: string; readonly value: string };

/** IDs that one reason names. */
const MAX_NAMED = 2;
/** The end of a prefix that means all names with a beginning, or all IDs below it. */
const OPEN_END = /[/._-]$/;
const TRUST_DOMAIN_ONLY = /^spiffe:\/\/[^/]*$/;

/** The prefixes of a policy that may end inside a segment, in the order of the document. */
export function closedPrefixes({ type, spec }: Pick<Resource, 'type' | 'spec'>): Prefix[] {
  if (!CLIENT_MATCHING_TYPES.some((one) => one === type)) return [];
  return objectsOf(spec['rules']).flatMap((item, at) => {
    const path = `spec.rules[${String(at)}]`;
    const conf = objectOf(item['default']);
    const lists = type === 'MeshTrafficPermission' ? CLIENT_LISTS : [];
    return [
      ...prefixesIn(item['matches'], `${path}.matches`),
      ...lists.flatMap((key) => prefixesIn(conf[key], `${path}.default.${key}`)),
    ];
  });
}

/** @param ids SPIFFE IDs of the mesh */
export function* widePrefixes(prefixes: readonly Prefix[], ids: ReadonlySet<string>): Steps<WidePrefix[]> {
  const found: WidePrefix[] = [];
  for (const { field, value } of prefixes) {
    const others = [...ids].filter((id) => endsInside(value, id)).sort();
    yield;
    if (others.length === 0) continue;
    const more = others.length > MAX_NAMED ? ` and ${String(others.length - MAX_NAMED)} more` : '';
    const named = others.slice(0, MAX_NAMED).join(', ');
    const remedy = `${TRUST_DOMAIN_ONLY.test(value) ? '' : 'name a client with type Exact, or '}end it with "/", which zones of Kuma leave off`;
    found.push({ field, reason: `ends inside a segment, and also fits ${named}${more}: ${remedy}` });
  }
  return found;
}

/** The wide prefixes of a row, among the SPIFFE IDs of the services and the proxies that an index has. */
export function* widePrefixesOf(index: MeshIndex, row: Resource): Steps<WidePrefix[]> {
  const prefixes = closedPrefixes(row);
  if (prefixes.length === 0) return [];
  const ids = new Set(idsOfServices(index.resources('MeshService')));
  for (const proxy of index.proxies()) {
    const identity = proxyIdentity(index, proxy);
    if (identity !== null) ids.add(identity.spiffeId);
    yield;
  }
  return yield* widePrefixes(prefixes, ids);
}

/** The SPIFFE IDs in the specs of MeshServices. */
export function idsOfServices(services: Iterable<Pick<Resource, 'spec'>>): string[] {
  return [...services].flatMap(({ spec }) =>
    objectsOf(spec['identities']).flatMap(({ type, value }) => (type === 'SpiffeID' ? [textOf(value)] : [])),
  );
}

function prefixesIn(matches: JsonObject[string] | undefined, path: string): Prefix[] {
  return objectsOf(matches).flatMap((match, at) =>
    ['spiffeID', 'spiffeId'].flatMap((key) => {
      const given = match[key];
      if (!isObject(given) || given['type'] !== 'Prefix') return [];
      const value = textOf(given['value']);
      return OPEN_END.test(value) ? [] : [{ field: `${path}[${String(at)}].${key}.value`, value }];
    }),
  );
}

/** The labels of a trust domain are its segments. */
function endsInside(prefix: string, id: string): boolean {
  if (!id.startsWith(prefix) || id === prefix) return false;
  const next = id.charAt(prefix.length);
  return next !== '/' && !(next === '.' && TRUST_DOMAIN_ONLY.test(prefix));
}
