// The matches of a MeshHTTPRoute as matches of Envoy routes, in the order in which they are asked (xds 3.2).
import { perObject } from '../base/per-object.ts';
import type { HttpMatch } from '../policies/routes.ts';
import type { JsonObject } from '../resource/types.ts';
import { headerMatcher } from '../envoy/header-matcher.ts';
import { CATCH_ALL } from './names.ts';

/** One match of a rule, with how it changes a rewritten prefix. */
export type RouteMatch = {
  readonly match: JsonObject;
  /** A route under a prefix: it has the rest of the path behind it. */
  readonly isBelowPrefix: boolean;
};

/**
 * The routes that one match becomes. A path prefix `/a` becomes the path `/a` and the prefix `/a/`, so that `/ab` does not match.
 * @param match one of `matches[]`
 */
export const routeMatches = perObject((match: HttpMatch): readonly RouteMatch[] => {
  const { type, value } = match.path ?? CATCH_ALL.path;
  const rest = restOf(match);
  switch (type) {
    case 'Exact':
      return [{ match: { path: value, ...rest }, isBelowPrefix: false }];
    case 'RegularExpression':
      return [{ match: { safeRegex: { regex: value }, ...rest }, isBelowPrefix: false }];
    case 'PathPrefix':
      if (value !== '/')
        return [
          { match: { path: value, ...rest }, isBelowPrefix: false },
          { match: { prefix: `${value}/`, ...rest }, isBelowPrefix: true },
        ];
  }
  return [{ match: { prefix: '/', ...rest }, isBelowPrefix: true }];
});

/** Whether a match takes every request. */
export const isCatchAll = perObject(
  (match: HttpMatch): boolean => JSON.stringify(routeMatches(match)) === JSON.stringify(routeMatches(CATCH_ALL)),
);

/**
 * Exact paths, then the longest prefixes, then regular expressions. Of equal ones first those with a method, then those with more headers,
 * then those with more query parameters (policies 7, Gateway API).
 */
export function compareMatches(a: HttpMatch, b: HttpMatch): number {
  return compareRanks(rankOf(a), rankOf(b));
}

/** Numbers that compare as their matches do. */
export type MatchRank = readonly number[];

export function compareRanks(one: MatchRank, other: MatchRank): number {
  for (let at = 0; at < one.length; at += 1) if (one[at] !== other[at]) return (one[at] ?? 0) - (other[at] ?? 0);
  return 0;
}

/** The place of a match among others. */
export const rankOf = perObject(({ path, method, headers = [], queryParams = [] }: HttpMatch): MatchRank => {
  const type = path?.type === 'Exact' ? 0 : path?.type === 'RegularExpression' ? 2 : 1;
  const prefix = type === 1 ? (path?.value.length ?? 1) : 0;
  // The route for every request comes last, below regular expressions.
  const isEverything = type === 1 && prefix === 1 ? 3 : type;
  return [isEverything, -prefix, method === undefined ? 1 : 0, -headers.length, -queryParams.length];
});

function restOf({ method, headers = [], queryParams = [] }: HttpMatch): JsonObject {
  const matchers = [
    ...(method === undefined ? [] : [{ name: ':method', stringMatch: { exact: method } }]),
    ...headers.map(headerMatcher),
  ];
  const parameters = queryParams.map(({ type, name, value }) => ({
    name,
    stringMatch: type === 'RegularExpression' ? { safeRegex: { regex: value } } : { exact: value },
  }));
  return {
    ...(matchers.length > 0 && { headers: matchers }),
    ...(parameters.length > 0 && { queryParameters: parameters }),
  };
}
