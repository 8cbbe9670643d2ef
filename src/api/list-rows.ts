// The rows of a list. The store applies the filters that it supports; this file filters Dataplanes by tags and gateways
// (rest-api 2.2).
import type { TypeInfo } from '../resource/type-registry.ts';
import type { Json, Resource } from '../resource/types.ts';
import type { ListQuery, ResourceStore } from '../store/resource-store.ts';
import { parseDataplaneFilter, parseFilter, type DataplaneQuery, type PageQuery, type RoutePath } from '../http/list-query.ts';
import { isShown } from '../document/shown-rows.ts';
import { objectOf } from '../resource/read-json.ts';

/** The part of the query that selects rows, without paging. */
export type RowFilter = {
  readonly where: Omit<ListQuery, 'limit' | 'offset'>;
  /** The conditions that the store cannot check; null if there are none. */
  readonly matches: ((row: Resource) => boolean) | null;
};

/**
 * @param mesh undefined: all meshes
 * @param route the path of the route, for errors
 * @throws ApiError for an invalid query
 */
export function rowFilterOf(info: TypeInfo, mesh: string | undefined, query: URLSearchParams, route: RoutePath): RowFilter {
  const { name, labels } = parseFilter(query, route);
  const where = {
    type: info.name,
    ...(mesh !== undefined && { mesh }),
    ...(name !== undefined && name !== '' && { nameContains: name }),
    ...(Object.keys(labels).length > 0 && { labels }),
  };
  const dataplanes = info.name === 'Dataplane' ? parseDataplaneFilter(query, route) : null;
  if (info.name === 'ServiceInsight') return { where, matches: isShown };
  const isPlain = dataplanes === null || (dataplanes.tags.length === 0 && dataplanes.gateway === undefined);
  return { where, matches: isPlain ? null : (row) => matchesDataplane(row, dataplanes) };
}

/** One page of rows, and the total number. */
export async function listRows(
  store: ResourceStore,
  { where, matches }: RowFilter,
  { size, offset }: PageQuery,
): Promise<{ rows: readonly Resource[]; total: number }> {
  if (matches === null) return await store.listPage({ ...where, limit: size, offset });
  const matching = (await store.list(where)).filter(matches);
  return { rows: matching.slice(offset, offset + size), total: matching.length };
}

function matchesDataplane({ labels, spec }: Resource, { tags, gateway }: DataplaneQuery): boolean {
  const gatewaySection = objectOf(objectOf(spec['networking'])['gateway']);
  const isGateway = objectOf(spec['networking'])['gateway'] !== undefined;
  if (gateway !== undefined && gateway !== isGateway) return false;
  const gatewayTags = objectOf(gatewaySection['tags']);
  return tags.every(([key, value]) => contains(labels, key, value) || contains(gatewayTags, key, value));
}

function contains(values: Readonly<Record<string, Json>>, key: string, part: string): boolean {
  const value = Object.hasOwn(values, key) ? values[key] : undefined;
  return typeof value === 'string' && value.includes(part);
}
