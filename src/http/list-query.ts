// The query of a list: paging and filters (rest-api 2.2).
import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { ApiError, badQuery } from './error-body.ts';

export type PageQuery = { readonly size: number; readonly offset: number };

type FilterQuery = {
  readonly name: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
};

/** Additional filters of lists of Dataplanes. */
export type DataplaneQuery = {
  /** Key and substring of the value; all must match. */
  readonly tags: readonly (readonly [key: string, value: string])[];
  readonly gateway: boolean | undefined;
};

const TITLE = 'Could not retrieve resources';
const FILTER = /^filter\[labels\.([^[\]]+)\]$/;
const MAX_PER_PAGE = 1000;

/** The query as it was sent, with repeated keys. */
export function queryOf(request: FastifyRequest): URLSearchParams {
  const start = request.url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : request.url.slice(start + 1));
}

/** The path of a route for errors: `/meshes/{mesh}/dataplanes`. */
export type RoutePath = () => string;

export function routePathOf(request: FastifyRequest): RoutePath {
  return () => (request.routeOptions.url ?? '').replaceAll(/:(\w+)/g, '{$1}');
}

/** @throws ApiError that names the allowed values; a bad size names its field, a bad offset adds no parameters, as in Kuma */
export function parsePage(query: URLSearchParams): PageQuery {
  const size = wholeNumber(query, 'size', 100);
  if (Number.isNaN(size) || size < 1 || size > MAX_PER_PAGE)
    throw badQuery('size', `must be a whole number from 1 to ${String(MAX_PER_PAGE)}`, TITLE);
  const offset = wholeNumber(query, 'offset', 0);
  if (Number.isNaN(offset)) throw new ApiError('bad_request', TITLE, 'offset: must be a whole number from 0');
  return { size, offset };
}

/**
 * Parses the filters. The last value of a repeated label counts.
 * @param route the field of a violation begins with its path
 * @throws ApiError
 */
export function parseFilter(query: URLSearchParams, route: RoutePath): FilterQuery {
  const labels = new Map<string, string>();
  for (const [key, value] of query) {
    if (!key.startsWith('filter[')) continue;
    const name = FILTER.exec(key)?.[1];
    if (name === undefined) throw badQuery(`${route()}.${key}`, 'the only filter is filter[labels.<key>]=<value>', TITLE);
    labels.set(name, value);
  }
  return { name: query.get('name') ?? undefined, labels: Object.fromEntries(labels) };
}

/** @throws ApiError */
export function parseDataplaneFilter(query: URLSearchParams, route: RoutePath): DataplaneQuery {
  const tags = query.getAll('tag').map((tag) => {
    const colon = tag.indexOf(':');
    return colon === -1 ? ([tag, ''] as const) : ([tag.slice(0, colon), tag.slice(colon + 1)] as const);
  });
  const gateway = query.get('gateway');
  if (gateway !== null && !['true', 'false', 'delegated'].includes(gateway))
    throw badQuery(`${route()}.gateway`, 'must be true, false or delegated', TITLE);
  return { tags, gateway: gateway === null ? undefined : gateway !== 'false' };
}

/** Parses `true` or `false`; absent and empty mean false. @throws ApiError */
export function parseFlag(query: URLSearchParams, field: string): boolean {
  const given = query.get(field) ?? '';
  if (given !== '' && given !== 'true' && given !== 'false') throw badQuery(field, 'must be true or false');
  return given === 'true';
}

/** Whether an item is wanted in Kubernetes form. @throws ApiError */
export function wantsKubernetes(query: URLSearchParams): boolean {
  const given = query.get('format') ?? '';
  if (given === '' || given === 'universal') return false;
  if (given === 'k8s' || given === 'kubernetes') return true;
  throw badQuery('format', 'must be universal, k8s or kubernetes');
}

/** Absolute URL of the next page with a sorted query, or null on the last. An invalid Host is not repeated. */
export function nextPage(request: FastifyRequest, { size, offset }: PageQuery, total: number): string | null {
  if (offset + size >= total) return null;
  const next = queryOf(request);
  next.set('offset', String(offset + size));
  next.sort();
  return `${request.protocol}://${hostOf(request)}${request.url.split('?')[0] ?? ''}?${next.toString()}`;
}

/** `host[:port]` of the request, else the local address. */
function hostOf({ host, socket }: FastifyRequest): string {
  if (/^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(host)) return host;
  const { localAddress = 'localhost', localPort } = socket;
  const name = isIPv6(localAddress) ? `[${localAddress}]` : localAddress;
  return localPort === undefined ? name : `${name}:${String(localPort)}`;
}

/** Returns NaN for a text that is not a whole number from 0. */
function wholeNumber(query: URLSearchParams, field: string, missing: number): number {
  const given = query.get(field) ?? '';
  if (given === '') return missing;
  return /^\d{1,15}$/.test(given) ? Number(given) : NaN;
}
