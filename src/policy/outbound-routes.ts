// The routes of an outbound in the order in which the proxy tries them: each rule with its route (policies 2.5, 3.3, 7).
import { perObject } from '../base/per-object.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import type { RouteKind } from '../policies/routes.ts';
import type { ProxyRules } from './build-rules.ts';
import { confInForce, type ConfInForce, type Destination } from './conf-in-force.ts';
import { canonicalMatches, matchesHash, writtenRules } from './route-rules.ts';
import type { Policy } from './parse-policy.ts';
import { isObject } from '../resource/read-json.ts';

type Contribution = ConfInForce['contributions'][number];

/** Its matches and its conf are unchecked, unless the types say otherwise. */
export type RouteRule<C = JsonObject, M = JsonObject> = {
  /** The route with the matches of the rule; the strongest of several. */
  readonly route: Policy;
  /** Position of its item in `to[]` of the route. */
  readonly index: number;
  /** Null for TCP. */
  readonly matches: readonly M[] | null;
  readonly conf: C;
};
export type RoutesOfKind = {
  readonly kind: RouteKind;
  readonly rules: readonly RouteRule[];
  /** Weakest first. */
  readonly contributions: ConfInForce['contributions'];
};

const KINDS: readonly RouteKind[] = ['MeshHTTPRoute', 'MeshTCPRoute'];

/** Routes on an outbound: the port's key, else the service's. */
export function outboundRoutes(rules: ProxyRules, destination: Destination): RoutesOfKind[] {
  return KINDS.flatMap((kind) => {
    const ofType = rules.types.find(({ type }) => type === kind);
    const found = ofType === undefined ? null : confInForce(ofType, destination);
    if (found === null) return [];
    const { contributions } = found;
    return [{ kind, contributions, rules: rulesOf(kind, found) }];
  });
}

/** By the merged conf, which many proxies and several readers have. */
const known = new WeakMap<ConfInForce['conf'], readonly RouteRule[]>();

function rulesOf(kind: RouteKind, found: ConfInForce): readonly RouteRule[] {
  let rules = known.get(found.conf);
  if (rules === undefined) known.set(found.conf, (rules = kind === 'MeshHTTPRoute' ? httpRules(found) : tcpRules(found)));
  return rules;
}

/** The origin of each rule, by the hash of its matches: the last route with these matches (policies 3.4). */
function originByMatches(contributions: ConfInForce['contributions']): (matches: Json | undefined) => Contribution | undefined {
  const [only, ...others] = contributions;
  if (others.length === 0) return () => only;
  const origins = new Map<string, Contribution>();
  for (const contribution of contributions)
    for (const { matches } of writtenRules(contribution.conf)) origins.set(matchesHash(matches), contribution);
  return (matches) => origins.get(matchesHash(matches));
}

function httpRules({ conf, contributions }: ConfInForce): RouteRule[] {
  const originOf = originByMatches(contributions);
  const found: RouteRule[] = [];
  for (const group of conf)
    for (const { matches, default: given } of writtenRules(group)) {
      const origin = originOf(matches);
      if (origin === undefined) continue;
      found.push({ route: origin.policy, index: origin.index, matches: canonicalMatches(matches), conf: backends(given) });
    }
  return found;
}

/** The rules of the strongest route replace the others, as with any list. */
function tcpRules({ conf, contributions }: ConfInForce): RouteRule[] {
  const origin = contributions.at(-1);
  if (origin === undefined) return [];
  const { policy: route, index } = origin;
  return conf.flatMap((group) =>
    writtenRules(group).map(({ default: given }) => ({ route, index, matches: null, conf: backends(given) })),
  );
}

/** `backendRefs` is always shown. The same object for the same conf. */
function backends(given: Json | undefined): JsonObject {
  return isObject(given) ? withBackends(given) : { backendRefs: [] };
}

const withBackends = perObject((given: JsonObject): JsonObject => ({ backendRefs: [], ...given }));
