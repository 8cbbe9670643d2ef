// Makes the filter chains of listeners last. Envoy closes the connections of a chain that changes, so what policies change often is not in
// it. They come by ECDS: an open connection keeps its network filters, the next request has the new HTTP filters. A filter that comes and goes
// has its place while it does nothing. Labels that nothing reads are not in a listener. Invariant: a listener does the same before and after.
// It runs after all else, so that policies and MeshProxyPatch see every filter where it is.
import { isDeepStrictEqual } from 'node:util';
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { isFaultFilter, noFault } from '../policies/mesh-fault-injection/envoy.ts';
import { isOwn, listenerOf, servesOthers } from './names.ts';
import type { ProxyConfig } from './proxy-context.ts';
import { FROM_ADS, given } from '../envoy/proto-json.ts';
import { CONNECTION_LIMIT, noConnectionLimit, rateLimitFilter } from '../policies/mesh-rate-limit/envoy.ts';

/** Faults of an inbound that come and go without a new chain: each costs a filter of every request. */
const FAULTS = 2;
/** The metadata of an inbound with the labels of its Dataplane. */
const LABELS = 'io.kuma.tags';
const TCP_PROXY = 'envoy.filters.network.tcp_proxy';
const CONNECTION_MANAGER = 'envoy.filters.network.http_connection_manager';
/** Network filters that come by ECDS, by the names of their kinds. */
const DISCOVERED: ReadonlySet<string> = new Set([TCP_PROXY, CONNECTION_LIMIT]);

/** The configuration as a proxy gets it. */
export function lasting(config: ProxyConfig): ProxyConfig {
  if (config.listeners.size === 0) return config;
  const filters = new Map(config.filters);
  const listeners = new Map<string, JsonObject>();
  for (const [name, listener] of config.listeners) {
    const lean = servesOthers(name) ? withoutUnreadLabels(listener, config.routes.get(name)) : listener;
    listeners.set(name, withLastingChains(name, lean, filters));
  }
  return { ...config, listeners, filters };
}

/** Envoy replaces a listener whose metadata changes. The format of a log, or a filter of a MeshProxyPatch, may read them. */
function withoutUnreadLabels({ metadata, ...listener }: JsonObject, routes: JsonObject | undefined): JsonObject {
  const { [LABELS]: labels, ...others } = objectOf(objectOf(metadata)['filterMetadata']);
  if (labels === undefined || JSON.stringify([listener, routes]).includes(LABELS)) return given({ ...listener, metadata });
  const rest = given({ ...objectOf(metadata), filterMetadata: Object.keys(others).length > 0 ? others : undefined });
  return given({ ...listener, metadata: Object.keys(rest).length > 0 ? rest : undefined });
}

/** @param found gets the filters that are discovered, by name */
function withLastingChains(name: string, listener: JsonObject, found: Map<string, JsonObject>): JsonObject {
  const chains = objectsOf(listener['filterChains']);
  // The resources of an outbound have its name, so that a proxy finds them by it.
  if (chains.length === 0 || (chains.length > 1 && !isOwn(name))) return listener;
  const filterChains = chains.map((chain) => {
    const filters = objectsOf(chain['filters']);
    const place = chains.length === 1 ? nameOfFilters(name) : `${name} ${chainName(chain)}`;
    const placed = servesOthers(name) ? withPlaces(filters, place, found) : filters;
    return { ...chain, filters: placed.map((filter) => discoveredOfKind(filter, place, found)) };
  });
  return { ...listener, filterChains };
}

/** The listeners of one outbound have one filter, with the name of the outbound. */
function nameOfFilters(listener: string): string {
  return isOwn(listener) ? listener : listenerOf(listener);
}

/** Two chains of a listener differ in their match. */
function chainName({ name, filterChainMatch }: JsonObject): string {
  return textOf(name) || JSON.stringify(filterChainMatch ?? {});
}

/** The filters of a chain, with a place for each that comes and goes. */
function withPlaces(filters: readonly JsonObject[], place: string, found: Map<string, JsonObject>): JsonObject[] {
  const end = filters.at(-1);
  if (end === undefined || (end['name'] !== TCP_PROXY && end['name'] !== CONNECTION_MANAGER)) return [...filters];
  const isLimited = filters.some(({ name }) => name === CONNECTION_LIMIT);
  const limit = isLimited ? [] : [noConnectionLimit()];
  return [...filters.slice(0, -1), ...limit, end['name'] === CONNECTION_MANAGER ? withHttpPlaces(end, place, found) : end];
}

function withHttpPlaces(manager: JsonObject, place: string, found: Map<string, JsonObject>): JsonObject {
  const config = objectOf(manager['typedConfig']);
  const given = objectsOf(config['httpFilters']);
  // A MeshProxyPatch may have changed it.
  const isLimit = (filter: JsonObject): boolean => isDeepStrictEqual(filter, rateLimitFilter);
  const others = given.filter((filter) => !isFaultFilter(filter) && !isLimit(filter));
  const inForce = given.filter(isFaultFilter).map(({ typedConfig }) => objectOf(typedConfig));
  const idle = Array.from({ length: Math.max(0, FAULTS - inForce.length) }, noFault);
  const faults = [...inForce, ...idle].map((fault, at) => discovered(`${place} fault ${String(at)}`, fault, found));
  const limit = others.some(({ name }) => name === rateLimitFilter['name']) ? [] : [rateLimitFilter];
  const httpFilters = [...others.slice(0, -1), ...faults, ...limit, ...others.slice(-1)];
  return { ...manager, typedConfig: { ...config, httpFilters } };
}

function discoveredOfKind(filter: JsonObject, place: string, found: Map<string, JsonObject>): JsonObject {
  const { name, typedConfig } = filter;
  const own = name === TCP_PROXY ? place : `${place} connections`;
  if (!DISCOVERED.has(textOf(name)) || typedConfig === undefined) return filter;
  const known = found.get(own);
  if (known !== undefined && (isOwn(own) || !isDeepStrictEqual(known['typedConfig'], typedConfig))) return filter;
  return discovered(own, objectOf(typedConfig), found);
}

/** A filter whose configuration is a resource of this name. */
function discovered(name: string, typedConfig: JsonObject, found: Map<string, JsonObject>): JsonObject {
  found.set(name, { name, typedConfig });
  return { name, configDiscovery: { configSource: FROM_ADS, typeUrls: [typedConfig['@type'] ?? ''] } };
}
