// The conditions of a Gateway API route after it was written. The leader of its control plane writes them a moment later.
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { ApiClient, Item } from './api-client.ts';
import { rowsOf } from './watched-rows.ts';

type RouteKey = { readonly info: TypeInfo; readonly mesh: string; readonly name: string };

/**
 * The route with its status. A new route is returned as soon as it has one. The status of a changed route may be that of its last
 * version and may stay as it is, so a changed route is returned when its status changes, or with its last status after the time.
 * @returns null if the leader has not checked a route in this time
 */
export async function checkedRoute(
  client: Pick<ApiClient, 'watch'>,
  { info, mesh, name }: RouteKey,
  { isNew, limitMs }: { readonly isNew: boolean; readonly limitMs: number },
): Promise<Item | null> {
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), limitMs);
  let last: Item | null = null;
  try {
    for await (const rows of rowsOf(client, info, { mesh, name, filter: {}, matches: null }, ended.signal))
      for (const { event, item } of rows) {
        last = item['status'] === undefined ? null : item;
        if (last !== null && (isNew || event !== 'existing')) return last;
      }
  } catch (error) {
    if (!ended.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
  return last;
}
