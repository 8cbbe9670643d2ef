// A watch as rows: the items that exist, then each change.
import { isDeepStrictEqual } from 'node:util';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Labels } from '../../resource/types.ts';
import type { ApiClient, Item } from './api-client.ts';

export type Watched = {
  readonly mesh?: string | undefined;
  readonly name?: string | undefined;
  readonly filter: Record<string, string>;
  /** The rest of the selector; null if the server filters everything. */
  readonly matches: ((labels: Labels) => boolean) | null;
};

export type Row = { readonly event: 'existing' | 'added' | 'changed' | 'deleted'; readonly item: Item };

/**
 * Yields all existing items together, then each change separately. A deletion shows the last known item. An item that no longer
 * matches the filter counts as deleted, as with the filters of the server. Only matching items are kept.
 */
export async function* rowsOf(
  client: Pick<ApiClient, 'watch'>,
  info: TypeInfo,
  what: Watched,
  signal: AbortSignal,
): AsyncGenerator<Row[]> {
  const known = new Map<string, Item>();
  // Known items that are not yet in the new list.
  let missing = new Map<string, Item>();
  let isSynced = false;
  for await (const { event, data } of client.watch(info, what, signal)) {
    if (event === 'begun') {
      missing = new Map(known);
      continue;
    }
    if (event === 'synced') {
      if (!isSynced) yield [...known.values()].map((item) => ({ event: 'existing', item }));
      for (const [id, item] of missing) {
        known.delete(id);
        yield [{ event: 'deleted', item }];
      }
      missing.clear();
      isSynced = true;
      continue;
    }
    const item = data as Item;
    const id = JSON.stringify([item.mesh ?? '', item.name]);
    const before = known.get(id);
    missing.delete(id);
    if (event === 'delete' || what.matches?.(item.labels ?? {}) === false) {
      known.delete(id);
      if (isSynced && before !== undefined) yield [{ event: 'deleted', item: before }];
    } else if (!isDeepStrictEqual(before, item)) {
      known.set(id, item);
      if (isSynced) yield [{ event: before === undefined ? 'added' : 'changed', item }];
    }
  }
}
