// Keeps rows of one type in memory in step with the table: what the feed names is read again. The table is the truth, the feed a hint.
import type { Resource, ResourceKey } from '../resource/types.ts';
import type { ResourceStore, StoreChange } from './resource-store.ts';

export type FollowedRows = {
  readonly type: string;
  /** Which rows of the type matter; all if left out. */
  readonly isWanted?: (key: ResourceKey) => boolean;
  /**
   * Takes rows that were read again.
   * @param rows those that exist among `keys`
   * @param keys null: every row of the type; a row that is known and not among `rows` is gone
   */
  readonly take: (rows: readonly Resource[], keys: readonly ResourceKey[] | null) => void | Promise<void>;
};

type Store = Pick<ResourceStore, 'changes' | 'getMany' | 'list'>;

/** Follows until the signal aborts; the first read is of all rows. Throws when the store fails: run it again, it reads all again. */
export async function followRows(store: Store, followed: FollowedRows, signal: AbortSignal): Promise<void> {
  for await (const change of store.changes(signal)) await read(store, followed, change);
}

async function read(store: Store, { type, isWanted = () => true, take }: FollowedRows, change: StoreChange): Promise<void> {
  if (change.kind === 'keys') {
    const keys = change.keys.filter((key) => key.type === type && isWanted(key));
    if (keys.length > 0) await take(await store.getMany(keys), keys);
  } else if (change.kind === 'all' || (change.kind === 'type' && change.type === type))
    await take((await store.list({ type })).filter(isWanted), null);
}
