// Pages of answers that are lists of names: `size` and `offset`, and `name` as a part of the display name (rest-api 4).
import type { FastifyRequest } from 'fastify';
import { badQuery } from '../http/error-body.ts';
import { nextPage, parsePage, queryOf } from '../http/list-query.ts';

export type Page<T> = { readonly total: number; readonly items: readonly T[]; readonly next?: string };

/** One page of the items with the name; `next` is absent on the last. @throws ApiError 400 for a query that is not valid */
export function pageOf<T>(request: FastifyRequest, all: readonly T[], nameOf: (item: T) => string): Page<T> {
  const query = queryOf(request);
  const page = parsePage(query);
  const filter = [...query.keys()].find((key) => key.startsWith('filter['));
  if (filter !== undefined) throw badQuery(filter, 'this list has no filter but name=<part of a name>');
  const wanted = query.get('name') ?? '';
  const found = wanted === '' ? all : all.filter((item) => nameOf(item).includes(wanted));
  const next = nextPage(request, page, found.length);
  return {
    total: found.length,
    items: found.slice(page.offset, page.offset + page.size),
    ...(next !== null && { next }),
  };
}
