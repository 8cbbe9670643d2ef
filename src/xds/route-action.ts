// The action of one route: filters, backends, and a direct answer if there is no backend (policies 2.5, xds 3.2).
import type { RouteFilter } from '../policies/routes.ts';
import type { JsonObject } from '../resource/types.ts';
import type { Backend, Backends, Mirror } from './backend.ts';
import { headerOptions, percentage } from '../envoy/proto-json.ts';

type Modifier = NonNullable<RouteFilter['requestHeaderModifier']>;
type Header = NonNullable<Modifier['set']>[number];
type PathRewrite = NonNullable<NonNullable<RouteFilter['urlRewrite']>['path']>;

const RESPONSE_CODES: ReadonlyMap<number, string> = new Map([
  [302, 'FOUND'],
  [303, 'SEE_OTHER'],
  [307, 'TEMPORARY_REDIRECT'],
  [308, 'PERMANENT_REDIRECT'],
]);

/** Answers instead of a backend that does not exist. */
export const NO_BACKEND: JsonObject = { directResponse: { status: 500, body: { inlineString: '' } } };

/**
 * `cluster`, or `weightedClusters` of several backends.
 * @param changesOf header changes for the share of a backend
 */
export function clustersOf({ backends }: Backends, changesOf: (backend: Backend) => JsonObject = () => ({})): JsonObject {
  const [first, ...others] = backends;
  if (first === undefined) return {};
  if (others.length === 0) return { cluster: first.outbound.kri };
  const clusters = backends.map((backend) => ({
    name: backend.outbound.kri,
    weight: backend.weight,
    ...changesOf(backend),
  }));
  return { weightedClusters: { clusters } };
}

/**
 * The clusters of a rule and its header changes. Those of a backend follow those of the rule (Gateway API, HTTPBackendRef). Envoy applies the
 * changes of a cluster before those of its route, so with several backends both stand at each cluster, and none at the route.
 */
export function changedClusters(
  found: Backends,
  filters: readonly RouteFilter[],
): { readonly clusters: JsonObject; readonly changes: JsonObject } {
  const { backends } = found;
  const [first, ...others] = backends;
  const ofBackend = (backend: Backend): JsonObject => headerChanges([...filters, ...backend.filters]);
  if (first !== undefined && others.length === 0) return { clusters: clustersOf(found), changes: ofBackend(first) };
  if (backends.every((backend) => backend.filters.length === 0))
    return { clusters: clustersOf(found), changes: headerChanges(filters) };
  return { clusters: clustersOf(found, ofBackend), changes: {} };
}

/** Headers that the filters of a rule change, for the route. A filter sees what those before it did (policies 2.5). */
export function headerChanges(filters: readonly RouteFilter[]): JsonObject {
  return {
    ...headersOf('request', partsOf(filters, 'RequestHeaderModifier', 'requestHeaderModifier')),
    ...headersOf('response', partsOf(filters, 'ResponseHeaderModifier', 'responseHeaderModifier')),
  };
}

function headersOf(what: 'request' | 'response', modifiers: readonly Modifier[]): JsonObject {
  const { set, add, remove } = inOne(modifiers);
  const added = headerOptions(set, add);
  return {
    ...(added.length > 0 && { [`${what}HeadersToAdd`]: added }),
    ...(remove.length > 0 && { [`${what}HeadersToRemove`]: remove }),
  };
}

/** Modifiers one after another as a single one. Envoy removes headers first, then replaces, then adds: what a later one undoes is left out. */
function inOne(modifiers: readonly Modifier[]) {
  const left = new Map<string, { set: Header[]; add: Header[] }>();
  const removed = new Map<string, string>();
  for (const { set = [], add = [], remove = [] } of modifiers) {
    for (const name of remove) {
      left.delete(name.toLowerCase());
      removed.set(name.toLowerCase(), name);
    }
    for (const header of set) left.set(header.name.toLowerCase(), { set: [header], add: [] });
    for (const header of add) {
      const key = header.name.toLowerCase();
      const known = left.get(key);
      if (known === undefined) left.set(key, { set: [], add: [header] });
      else known.add.push(header);
    }
  }
  const all = [...left.values()];
  return { set: all.flatMap((one) => one.set), add: all.flatMap((one) => one.add), remove: [...removed.values()] };
}

/** The objects of the filters of one type, in their order. */
function partsOf<K extends Exclude<keyof RouteFilter, 'type'>>(
  filters: readonly RouteFilter[],
  type: RouteFilter['type'],
  key: K,
): NonNullable<RouteFilter[K]>[] {
  return filters.flatMap((filter) => (filter.type === type ? (filter[key] ?? []) : []));
}

/** The redirect of a rule, the first of several; null without one. */
export function redirectOf(filters: readonly RouteFilter[], isBelowPrefix: boolean): JsonObject | null {
  const [found] = partsOf(filters, 'RequestRedirect', 'requestRedirect');
  if (found === undefined) return null;
  const { scheme, hostname, port, path, statusCode } = found;
  const responseCode = RESPONSE_CODES.get(statusCode);
  return {
    ...(scheme !== undefined && { schemeRedirect: scheme }),
    ...(hostname !== undefined && { hostRedirect: hostname }),
    ...(port !== undefined && { portRedirect: port }),
    ...rewriteOf(path, isBelowPrefix),
    // MOVED_PERMANENTLY is the default of Envoy.
    ...(responseCode !== undefined && { responseCode }),
  };
}

/** Rewrites of path and host, for the action of a route: of each the first that a URLRewrite has. */
export function urlRewrite(filters: readonly RouteFilter[], isBelowPrefix: boolean): JsonObject {
  const rewrites = partsOf(filters, 'URLRewrite', 'urlRewrite');
  const hostname = rewrites.find((rewrite) => rewrite.hostname !== undefined)?.hostname;
  const path = rewrites.find((rewrite) => rewrite.path !== undefined)?.path;
  return { ...rewriteOf(path, isBelowPrefix), ...(hostname !== undefined && { hostRewriteLiteral: hostname }) };
}

/**
 * A prefix is replaced on the route below it, with its slash: `/v3/a` by `/three` is `/three/a`. Everywhere else the whole path is
 * replaced.
 */
function rewriteOf(path: PathRewrite | undefined, isBelowPrefix: boolean): JsonObject {
  if (path === undefined) return {};
  const { type, replaceFullPath = '', replacePrefixMatch: prefix = '' } = path;
  if (type === 'ReplacePrefixMatch') {
    return isBelowPrefix ? { prefixRewrite: prefix.endsWith('/') ? prefix : `${prefix}/` } : whole(prefix === '' ? '/' : prefix);
  }
  return type === 'ReplaceFullPath' ? whole(replaceFullPath) : {};
}

/** RE2 reads a backslash of a substitution as the start of a group. */
function whole(path: string): JsonObject {
  const substitution = path.replaceAll('\\', '\\\\');
  return { regexRewrite: { pattern: { regex: '.*' }, substitution } };
}

/** Copies of requests, in their shares. */
export function mirrorPolicies(mirrors: readonly Mirror[]): JsonObject {
  if (mirrors.length === 0) return {};
  return {
    requestMirrorPolicies: mirrors.map(({ outbound, share }) => ({
      cluster: outbound.kri,
      ...(share !== undefined && { runtimeFraction: { defaultValue: percentage(share) } }),
    })),
  };
}
