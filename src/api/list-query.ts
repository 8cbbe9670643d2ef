// The query of a list: paging and filters (rest-api 2.2).
import { ApiError } from './error-body.ts';

export type PageQuery = {
  readonly size: number;
  readonly offset: number;
  readonly name: string | undefined;
  readonly labels: Record<string, string>;
};

const TITLE = 'Could not retrieve resources';
const FILTER = /^filter\[labels\.(.+)\]$/;

/** @throws ApiError that names the field and what is allowed */
export function parsePageQuery(query: URLSearchParams): PageQuery {
  const labels: Record<string, string> = {};
  for (const [key, value] of query) {
    if (!key.startsWith('filter')) continue;
    const name = FILTER.exec(key)?.[1];
    if (name === undefined) refuse(key, 'the only filter is filter[labels.<key>]=<value>');
    labels[name] = value;
  }
  return {
    size: whole(query, 'size', 100, 1, 1000),
    offset: whole(query, 'offset', 0, 0, Number.MAX_SAFE_INTEGER),
    name: query.get('name') ?? undefined,
    labels,
  };
}

/** Absolute URL of the next page, or null on the last (rest-api 2.2). */
export function nextPage(
  base: string,
  path: string,
  query: URLSearchParams,
  { size, offset }: PageQuery,
  total: number,
): string | null {
  if (offset + size >= total) return null;
  const next = new URLSearchParams(query);
  next.set('offset', String(offset + size));
  return `${base}${path}?${next.toString()}`;
}

function whole(query: URLSearchParams, field: string, missing: number, least: number, most: number): number {
  const given = query.get(field);
  if (given === null) return missing;
  const value = /^\d{1,15}$/.test(given) ? Number(given) : NaN;
  if (Number.isNaN(value) || value < least || value > most) {
    refuse(
      field,
      most > 1000 ? 'must be a whole number from 0' : `must be a whole number from ${String(least)} to ${String(most)}`,
    );
  }
  return value;
}

function refuse(field: string, reason: string): never {
  throw new ApiError('bad_request', TITLE, `${field}: ${reason}`, [{ field, reason }]);
}
