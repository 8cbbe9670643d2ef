// MeshTrafficPermission as RBAC of an inbound: the permitted clients, by the SPIFFE ID of their certificate (policies 6, xds 6).
// Invariant: a denial wins over every permission, and a client without a permission is denied. An empty match denies every client, and
// permits none. The rules of an HTTP inbound are in its routes: a permission that changes then replaces no chain, closes no connection,
// and holds for the next request. Those of a TCP inbound replace its chain: a client that lost its permission must not stay connected.
import type { InboundMatch } from '../../schema/inbound-match.ts';
import { PERMITTING_LISTS, type ClientList } from './spec.ts';
import type { JsonObject } from '../../resource/types.ts';
import { clientPredicate } from '../../envoy/client-match.ts';
import { clientsIn, type PermissionRule } from './clients.ts';
import { extension, typed } from '../../envoy/proto-json.ts';

const [DENIED, ALLOWED] = [onMatch('default', 'DENY'), onMatch('default', 'ALLOW')];

const HTTP_FILTER = 'envoy.filters.http.rbac';
const HTTP_TYPE = 'extensions.filters.http.rbac.v3.RBAC';

/** The filter of an HTTP inbound: it denies what the routes do not permit. */
export const permissionFilter: JsonObject = extension(HTTP_FILTER, HTTP_TYPE, { matcher: matcher([], DENIED) });

/** `{typedPerFilterConfig}` of a RouteConfiguration. @param rules of the inbound */
export function httpPermission(rules: readonly PermissionRule[]): JsonObject {
  return { typedPerFilterConfig: { [HTTP_FILTER]: typed(`${HTTP_TYPE}PerRoute`, { rbac: matchersOf(rules) }) } };
}

/** The filter of a TCP inbound. @param name its prefix in statistics */
export function networkPermission(rules: readonly PermissionRule[], name: string): JsonObject {
  const config = { ...matchersOf(rules), statPrefix: `${name}.` };
  return extension('envoy.filters.network.rbac', 'extensions.filters.network.rbac.v3.RBAC', config);
}

/** The shadow denies the clients alone that the rules name: Envoy counts and logs a shadow denial of no other. */
function matchersOf(rules: readonly PermissionRule[]): JsonObject {
  const denied = matchers(rules, ['deny'], 'DENY');
  const allowed = matchers(rules, PERMITTING_LISTS, 'ALLOW');
  const shadowed = matchers(rules, ['allowWithShadowDeny'], 'DENY');
  return {
    matcher: matcher([...denied, ...allowed], DENIED),
    ...(shadowed.length > 0 && { shadowMatcher: matcher(shadowed, ALLOWED) }),
  };
}

/** One matcher a rule, for the clients that it names under these keys. */
function matchers(rules: readonly PermissionRule[], keys: readonly ClientList[], action: 'ALLOW' | 'DENY'): JsonObject[] {
  return rules.flatMap((rule) => {
    const predicates = keys.flatMap((key) => clientsIn(rule, key)).flatMap((client) => predicateOf(rule, client));
    const [first] = predicates;
    if (first === undefined) return [];
    const predicate = predicates.length === 1 ? first : { orMatcher: { predicate: predicates } };
    return [{ predicate, onMatch: onMatch(rule.policy.kri, action) }];
  });
}

/** A client of a rule with a match must fit both. */
function predicateOf({ match }: PermissionRule, client: InboundMatch): JsonObject[] {
  const own = clientPredicate(client);
  if (own === null) return [];
  const common = match === null ? null : clientPredicate(match);
  return [common === null ? own : { andMatcher: { predicate: [common, own] } }];
}

function matcher(list: JsonObject[], onNoMatch: JsonObject): JsonObject {
  return { ...(list.length > 0 && { matcherList: { matchers: list } }), onNoMatch };
}

/** ALLOW is the default of the field. */
function onMatch(name: string, action: 'ALLOW' | 'DENY'): JsonObject {
  const config = { name, ...(action === 'DENY' && { action }) };
  return { action: { name: 'envoy.filters.rbac.action', typedConfig: typed('config.rbac.v3.Action', config) } };
}
