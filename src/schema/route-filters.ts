// Filters of a MeshHTTPRoute rule that others of the rule exclude (policies 2.5; Gateway API, HTTPRouteFilter: a type is not repeated, and
// URLRewrite and RequestRedirect exclude each other). They are accepted, because a refused rule would leave running proxies. Pure.
import { isObject, objectOf } from '../resource/read-json.ts';
import type { Json } from '../resource/types.ts';

/** A filter, or a field of it, that does nothing. */
export type IdleFilter = {
  /** The path below the list: `[1].urlRewrite.path`. */
  readonly path: string;
  readonly reason: string;
};

const REDIRECTED = new Set<unknown>(['URLRewrite', 'RequestMirror']);
/** Envoy takes no more changed headers on a route. */
export const MAX_CHANGED_HEADERS = 1_000;

/** The filters of a list that do nothing, in a checked list or not. Header modifiers and mirrors are all in force. */
export function idleFilters(filters: readonly unknown[]): IdleFilter[] {
  const redirect = filters.findIndex((filter) => objectOf(filter)['type'] === 'RequestRedirect');
  const rewritten = new Set<string>();
  return filters.flatMap((filter, index): IdleFilter[] => {
    const { type, urlRewrite } = objectOf(filter);
    const path = `[${String(index)}]`;
    if (redirect !== -1 && REDIRECTED.has(type)) return [{ path, reason: 'has no effect: the rule redirects its requests' }];
    if (type === 'RequestRedirect' && index > redirect)
      return [{ path, reason: 'has no effect: the first RequestRedirect of the rule is in force' }];
    return type === 'URLRewrite' ? idleRewrites(urlRewrite, path, rewritten) : [];
  });
}

/** The rewrites that do nothing. @param rewritten the fields that earlier filters rewrite; gets those of this one */
function idleRewrites(rewrite: Json | undefined, path: string, rewritten: Set<string>): IdleFilter[] {
  return ['hostname', 'path'].flatMap((key) => {
    if (!isObject(rewrite) || rewrite[key] === undefined) return [];
    if (rewritten.has(key))
      return [{ path: `${path}.urlRewrite.${key}`, reason: `has no effect: an earlier URLRewrite has a ${key}` }];
    rewritten.add(key);
    return [];
  });
}
