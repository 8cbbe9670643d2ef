// The query of a list: paging and filters (rest-api 2.2).
import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { badQuery } from './error-body.ts';

export type PageQuery = { readonly size: number; readonly offset: number };

export type FilterQuery = {
  readonly name: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
};

/** Filters that lists of Dataplanes have besides. */
export type DataplaneQuery = {
  /** Key and substring of the value; all must match. */
  readonly tags: readonly (readonly [key: string, value: string])[];
  readonly gateway: boolean | undefined;
};

const TITLE = 'Could not retrieve resources';
const FILTER = /^filter\[labels\.([^[\]]+)\]$/;
const MOST_PER_PAGE = 1000;

/** The query as it was sent, repeated keys and all. */
export function queryOf(request: FastifyRequest): URLSearchParams {
  const start = request.url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : request.url.slice(start + 1));
}

/** @throws ApiError that names the field and what is allowed */
export function parsePage(query: URLSearchParams): PageQuery {
  return {
    size: whole(query, 'size', 100, 1, MOST_PER_PAGE),
    offset: whole(query, 'offset', 0, 0, Number.MAX_SAFE_INTEGER),
  };
}

/** Of a repeated label the last value counts. @throws ApiError */
export function parseFilter(query: URLSearchParams): FilterQuery {
  const labels = new Map<string, string>();
  for (const [key, value] of query) {
    if (!key.startsWith('filter[')) continue;
    const name = FILTER.exec(key)?.[1];
    if (name === undefined) throw badQuery(key, 'the only filter is filter[labels.<key>]=<value>', TITLE);
    labels.set(name, value);
  }
  return { name: query.get('name') ?? undefined, labels: Object.fromEntries(labels) };
}

/** @throws ApiError */
export function parseDataplaneFilter(query: URLSearchParams): DataplaneQuery {
  const tags = query.getAll('tag').map((tag) => {
    const colon = tag.indexOf(':');
    return colon === -1 ? ([tag, ''] as const) : ([tag.slice(0, colon), tag.slice(colon + 1)] as const);
  });
  const gateway = query.get('gateway');
  if (gateway !== null && !['true', 'false', 'delegated'].includes(gateway))
    throw badQuery('gateway', 'must be true, false or delegated');
  return { tags, gateway: gateway === null ? undefined : gateway !== 'false' };
}

/** `true` or `false`; absent and empty read as false. @throws ApiError */
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

/** Absolute URL of the next page, or null on the last (rest-api 2.2). A Host that is none is not repeated. */
export function nextPage(request: FastifyRequest, { size, offset }: PageQuery, total: number): string | null {
  if (offset + size >= total) return null;
  const next = queryOf(request);
  next.set('offset', String(offset + size));
  return `${request.protocol}://${hostOf(request)}${request.url.split('?')[0] ?? ''}?${next.toString()}`;
}

/** `host[:port]` as the caller wrote it; else the address that the request came to. */
function hostOf({ host, socket }: FastifyRequest): string {
  if (/^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(host)) return host;
  const { localAddress = 'localhost', localPort } = socket;
  const name = isIPv6(localAddress) ? `[${localAddress}]` : localAddress;
  return localPort === undefined ? name : `${name}:${String(localPort)}`;
}

function whole(query: URLSearchParams, field: string, missing: number, least: number, most: number): number {
  const given = query.get(field);
  if (given === null || given === '') return missing;
  const value = /^\d{1,15}$/.test(given) ? Number(given) : NaN;
  if (Number.isNaN(value) || value < least || value > most) {
    const reason =
      most > MOST_PER_PAGE ? 'must be a whole number from 0' : `must be a whole number from ${String(least)} to ${String(most)}`;
    throw badQuery(field, reason, TITLE);
  }
  return value;
}
