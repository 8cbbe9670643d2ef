// The action of one route: filters, backends, and a direct answer if there is no backend (policies 2.5, xds 3.2).
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import type { Backends } from './backends.ts';
import { headerOptions, percentage } from './proto-json.ts';

const RESPONSE_CODES: ReadonlyMap<Json | undefined, string> = new Map([
  [302, 'FOUND'],
  [303, 'SEE_OTHER'],
  [307, 'TEMPORARY_REDIRECT'],
  [308, 'PERMANENT_REDIRECT'],
]);

/** Answers instead of a backend that does not exist. */
export const NO_BACKEND: JsonObject = { directResponse: { status: 500, body: { inlineString: '' } } };

/** `cluster`, or `weightedClusters` of several backends. */
export function clustersOf({ backends }: Backends): JsonObject {
  const [first, ...others] = backends;
  if (first === undefined) return {};
  if (others.length === 0) return { cluster: first.outbound.kri };
  return { weightedClusters: { clusters: backends.map(({ outbound, weight }) => ({ name: outbound.kri, weight })) } };
}

/** Headers that the filters of a rule change, for the route. */
export function headerChanges(filters: readonly JsonObject[]): JsonObject {
  return Object.assign(
    {},
    ...filters.map(({ type, requestHeaderModifier, responseHeaderModifier }) =>
      type === 'RequestHeaderModifier'
        ? changes('request', objectOf(requestHeaderModifier))
        : type === 'ResponseHeaderModifier'
          ? changes('response', objectOf(responseHeaderModifier))
          : {},
    ),
  ) as JsonObject;
}

function changes(what: 'request' | 'response', { set, add, remove }: JsonObject): JsonObject {
  const added = headerOptions(objectsOf(set), objectsOf(add));
  return {
    ...(added.length > 0 && { [`${what}HeadersToAdd`]: added }),
    ...(Array.isArray(remove) && remove.length > 0 && { [`${what}HeadersToRemove`]: remove }),
  };
}

/** The redirect of a rule; null without one. */
export function redirectOf(filters: readonly JsonObject[], isBelowPrefix: boolean): JsonObject | null {
  const found = filters.find(({ type }) => type === 'RequestRedirect');
  if (found === undefined) return null;
  const { scheme, hostname, port, path, statusCode = 302 } = objectOf(found['requestRedirect']);
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

/** Rewrites of path and host, for the action of a route. */
export function urlRewrite(filters: readonly JsonObject[], isBelowPrefix: boolean): JsonObject {
  const found = filters.find(({ type }) => type === 'URLRewrite');
  if (found === undefined) return {};
  const { hostname, path } = objectOf(found['urlRewrite']);
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
