// Keeps rows of one type in memory equal to the table: rows that the feed names are read again. The table is the truth, the feed a
// hint.
import type { Resource, ResourceKey } from '../resource/types.ts';
import { FeedFollower, type Following } from './follow-feed.ts';
import type { ResourceStore } from './resource-store.ts';

type FollowedRows = {
  readonly type: string;
  /** Selects the rows of the type. The default is all. */
  readonly isWanted?: (key: ResourceKey) => boolean;
  /**
   * Takes rows that were read again.
   * @param rows those that exist among `keys`
   * @param keys null for every row of the type; a known row that is not among `rows` was deleted
   */
  readonly take: (rows: readonly Resource[], keys: readonly ResourceKey[] | null) => void | Promise<void>;
  /** It is called at the beginning with the follower, which says whether the rows in memory are current. */
  readonly begins?: (follower: Pick<FeedFollower, 'isCurrent'>) => void;
};

type Store = Pick<ResourceStore, 'changes' | 'mark' | 'getMany' | 'list'>;

/** Follows until the signal aborts. The first read, and the first after an error, is of all rows. */
export async function followRows(
  store: Store,
  { type, isWanted = () => true, take, begins }: FollowedRows,
  following: Following,
  signal: AbortSignal,
): Promise<void> {
  const follower = new FeedFollower({ ...following, store, types: [type] });
  begins?.(follower);
  await follower.run(async ({ types, keys }) => {
    if (types.length > 0) return await take((await store.list({ type })).filter(isWanted), null);
    const wanted = keys.filter(isWanted);
    if (wanted.length > 0) await take(await store.getMany(wanted), wanted);
  }, signal);
}
