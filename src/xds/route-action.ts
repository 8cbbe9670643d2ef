// The action of one route: filters, backends, and a direct answer if there is no backend (policies 2.5, xds 3.2).
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import type { Backend, Backends } from './backend.ts';
import { headerOptions, percentage } from '../envoy/proto-json.ts';

const RESPONSE_CODES: ReadonlyMap<Json | undefined, string> = new Map([
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
  filters: readonly JsonObject[],
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
export function headerChanges(filters: readonly JsonObject[]): JsonObject {
  return {
    ...headersOf('request', partsOf(filters, 'RequestHeaderModifier', 'requestHeaderModifier')),
    ...headersOf('response', partsOf(filters, 'ResponseHeaderModifier', 'responseHeaderModifier')),
  };
}

function headersOf(what: 'request' | 'response', modifiers: readonly JsonObject[]): JsonObject {
  const { set, add, remove } = inOne(modifiers);
  const added = headerOptions(set, add);
  return {
    ...(added.length > 0 && { [`${what}HeadersToAdd`]: added }),
    ...(remove.length > 0 && { [`${what}HeadersToRemove`]: remove }),
  };
}

/** Modifiers one after another as a single one. Envoy removes headers first, then replaces, then adds: what a later one undoes is left out. */
function inOne(modifiers: readonly JsonObject[]) {
  const left = new Map<string, { set: JsonObject[]; add: JsonObject[] }>();
  const removed = new Map<string, Json>();
  for (const { set, add, remove } of modifiers) {
    for (const name of Array.isArray(remove) ? remove : []) {
      left.delete(keyOf(name));
      removed.set(keyOf(name), name);
    }
    for (const header of objectsOf(set)) left.set(keyOf(header['name']), { set: [header], add: [] });
    for (const header of objectsOf(add)) {
      const known = left.get(keyOf(header['name']));
      if (known === undefined) left.set(keyOf(header['name']), { set: [], add: [header] });
      else known.add.push(header);
    }
  }
  const all = [...left.values()];
  return { set: all.flatMap((one) => one.set), add: all.flatMap((one) => one.add), remove: [...removed.values()] };
}

function keyOf(name: Json | undefined): string {
  return textOf(name).toLowerCase();
}

/** The objects of the filters of one type, in their order. */
function partsOf(filters: readonly JsonObject[], type: string, key: string): JsonObject[] {
  return filters.flatMap((filter) => (filter['type'] === type ? [objectOf(filter[key])] : []));
}

/** The redirect of a rule, the first of several; null without one. */
export function redirectOf(filters: readonly JsonObject[], isBelowPrefix: boolean): JsonObject | null {
  const [found] = partsOf(filters, 'RequestRedirect', 'requestRedirect');
  if (found === undefined) return null;
  const { scheme, hostname, port, path, statusCode = 302 } = found;
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
export function urlRewrite(filters: readonly JsonObject[], isBelowPrefix: boolean): JsonObject {
  const rewrites = partsOf(filters, 'URLRewrite', 'urlRewrite');
  const [hostname, path] = ['hostname', 'path'].map((key) => rewrites.find((rewrite) => rewrite[key] !== undefined)?.[key]);
  return { ...rewriteOf(path, isBelowPrefix), ...(hostname !== undefined && { hostRewriteLiteral: hostname }) };
}

/**
 * A prefix is replaced on the route below it, with its slash: `/v3/a` by `/three` is `/three/a`. Everywhere else the whole path is
 * replaced.
 */
function rewriteOf(path: Json | undefined, isBelowPrefix: boolean): JsonObject {
  const { type, replaceFullPath, replacePrefixMatch } = objectOf(path);
  if (type === 'ReplacePrefixMatch') {
    const prefix = textOf(replacePrefixMatch);
    return isBelowPrefix ? { prefixRewrite: prefix.endsWith('/') ? prefix : `${prefix}/` } : whole(prefix === '' ? '/' : prefix);
  }
  return type === 'ReplaceFullPath' ? whole(textOf(replaceFullPath)) : {};
}

/** RE2 reads a backslash of a substitution as the start of a group. */
function whole(path: string): JsonObject {
  const substitution = path.replaceAll('\\', '\\\\');
  return { regexRewrite: { pattern: { regex: '.*' }, substitution } };
}

/** @param mirrors clusters with their shares of the requests */
export function mirrorPolicies(mirrors: readonly { cluster: string; share: Json | undefined }[]): JsonObject {
  if (mirrors.length === 0) return {};
  return {
    requestMirrorPolicies: mirrors.map(({ cluster, share }) => ({
      cluster,
      ...(share !== undefined && { runtimeFraction: { defaultValue: percentage(share) } }),
    })),
  };
}
