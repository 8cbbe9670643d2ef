// What `meridian get httproutes` shows of a Gateway API route: what became of it, from `status.parents[].conditions`.
import { at, items } from '../../resource/schema/json-access.ts';
import type { Json } from '../../resource/types.ts';
import type { Item } from '../client/api-client.ts';
import type { Column } from './column.ts';

/** Accepted and ResolvedRefs over all parents: False when one says so, `-` while the route has not been looked at. */
export const gatewayRouteColumns: readonly Column[] = [
  { head: 'ACCEPTED', of: (item) => overall(item, 'Accepted') },
  { head: 'RESOLVED REFS', of: (item) => overall(item, 'ResolvedRefs') },
  { head: 'WHY', wide: true, of: (item) => problemsOf(item).join('; ') || '-' },
];

/** What keeps a route, or rules of it, out of force: the messages of its conditions, each once. */
export function problemsOf(item: Item): string[] {
  const bad = conditionsOf(item).filter(({ type, status }) => status === (type === 'PartiallyInvalid' ? 'True' : 'False'));
  // PartiallyInvalid says more about what ResolvedRefs has found.
  const isExplained = bad.some(({ type }) => type === 'PartiallyInvalid');
  const told = bad.filter(({ type }) => !(isExplained && type === 'ResolvedRefs'));
  return [...new Set(told.map(({ message }) => message))];
}

type Condition = { readonly type: string; readonly status: string; readonly message: string };

function overall(item: Item, type: string): string {
  const found = conditionsOf(item).filter((condition) => condition.type === type);
  if (found.length === 0) return '-';
  return found.every(({ status }) => status === 'True') ? 'True' : 'False';
}

function conditionsOf({ status }: Item): Condition[] {
  const conditions = items(at(status, 'parents')).flatMap((parent) => items(at(parent, 'conditions')));
  return conditions.map((condition) => ({
    type: textAt(condition, 'type'),
    status: textAt(condition, 'status'),
    message: textAt(condition, 'message'),
  }));
}

function textAt(value: Json, path: string): string {
  const found = at(value, path);
  return typeof found === 'string' ? found : '';
}
