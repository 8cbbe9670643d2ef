// What the policies in force write into the parts of Envoy, in the order of the registry. The assemblers of src/xds name no policy for these parts.
import { objectOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import type { Conf, ConfRule, Confs } from './confs.ts';
import type { ClusterPlace, Direction, PolicyDefinition, RoutePlace } from './policy-definition.ts';
import { policyDefinitions } from './registry.ts';

/** The checked conf in force of a type; `{}` without one. */
export type ConfsInForce = <T extends keyof Confs>(type: T) => Conf<T>;
/** The checked rules of a type, in the order in which they are asked. */
export type RulesInForce = <T extends keyof Confs>(type: T) => readonly ConfRule<T>[];

export const NO_CONFS: ConfsInForce = () => ({});

/** The same confs, each computed once: the parts of one listener ask for a conf again and again. */
export function computedOnce(confOf: ConfsInForce): ConfsInForce {
  const known = new Map<keyof Confs, Conf<keyof Confs>>();
  return <T extends keyof Confs>(type: T): Conf<T> => {
    let conf = known.get(type);
    if (conf === undefined) known.set(type, (conf = confOf(type)));
    return conf as Conf<T>;
  };
}

type Part = Exclude<keyof PolicyDefinition<never>, 'schema' | 'check' | 'counts'>;
/** What one type has for a part. */
type Writer<P extends Part> = { readonly type: keyof Confs; readonly write: NonNullable<PolicyDefinition<never>[P]> };

/** Each gets the conf of its own type: `as never` below is where the compiler cannot follow. */
function writersOf<P extends Part>(part: P): readonly Writer<P>[] {
  return Object.entries<PolicyDefinition<never>>(policyDefinitions).flatMap(([type, definition]) => {
    const write = definition[part];
    return write === undefined ? [] : [{ type: type as keyof Confs, write }];
  });
}

const CLUSTER = writersOf('cluster');
const CLUSTER_HTTP = writersOf('clusterHttp');
const ROUTE_ACTION = writersOf('routeAction');
const INBOUND_ROUTE = writersOf('inboundRoute');
const ROUTE_FILTER = writersOf('routeFilter');
const CONNECTION_MANAGER = writersOf('connectionManager');
const TCP_PROXY = writersOf('tcpProxy');
const NETWORK_FILTERS = writersOf('networkFilters');
const HTTP_FILTERS = writersOf('httpFilters');
const BY_CLIENT = writersOf('byClient');

function merged(parts: readonly JsonObject[]): JsonObject {
  return Object.assign({}, ...parts) as JsonObject;
}

/** Fields of a Cluster. */
export function clusterFields(confOf: ConfsInForce, place: ClusterPlace): JsonObject {
  const parts = CLUSTER.map(({ type, write }) => write(confOf(type) as never, place));
  const shared = parts.map(({ commonLbConfig }) => objectOf(commonLbConfig));
  const commonLbConfig = merged(shared);
  return { ...merged(parts), ...(Object.keys(commonLbConfig).length > 0 && { commonLbConfig }) };
}

/** Fields of the common HttpProtocolOptions of a cluster. */
export function clusterHttpFields(confOf: ConfsInForce, place: ClusterPlace): JsonObject {
  return merged(CLUSTER_HTTP.map(({ type, write }) => write(confOf(type) as never, place)));
}

/** Fields of the action of a route. */
export function routeActionFields(confOf: ConfsInForce, place: RoutePlace): JsonObject {
  return merged(ROUTE_ACTION.map(({ type, write }) => write(confOf(type) as never, place)));
}

/** Fields of a route of an inbound besides its action. */
export function inboundRouteFields(confOf: ConfsInForce): JsonObject {
  return merged(INBOUND_ROUTE.map(({ type, write }) => write(confOf(type) as never)));
}

/** Fields of an HttpConnectionManager. */
export function connectionManagerFields(confOf: ConfsInForce): JsonObject {
  return merged(CONNECTION_MANAGER.map(({ type, write }) => write(confOf(type) as never)));
}

/** Fields of a TcpProxy. */
export function tcpProxyFields(confOf: ConfsInForce, direction: Direction): JsonObject {
  return merged(TCP_PROXY.map(({ type, write }) => write(confOf(type) as never, direction)));
}

/** Network filters of an inbound, before the last one. */
export function networkFilters(confOf: ConfsInForce): JsonObject[] {
  return NETWORK_FILTERS.flatMap(({ type, write }) => write(confOf(type) as never));
}

/**
 * HTTP filters of an inbound: those of rules, and those that read what its routes have for them.
 * @param routes of the inbound
 */
export function httpFilters(rulesOf: RulesInForce, routes: readonly JsonObject[]): JsonObject[] {
  const configured = new Set(routes.flatMap(({ typedPerFilterConfig }) => Object.keys(objectOf(typedPerFilterConfig))));
  const ofRules = HTTP_FILTERS.flatMap(({ type, write }) => write(rulesOf(type) as never));
  return [...ofRules, ...ROUTE_FILTER.map(({ write }) => write).filter(({ name }) => configured.has(String(name)))];
}

/** The types of which rules for some clients have an effect on the routes of an inbound, with the paths that may differ. */
export const DIFFER_BY_CLIENT: ReadonlyMap<keyof Confs, ReadonlySet<string>> = new Map(
  BY_CLIENT.map(({ type, write }) => [type, write]),
);
