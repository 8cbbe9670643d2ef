// The epochs of fences, which decide which stream of a peer may write.
import { sql, type Kysely } from 'kysely';
import { CHANNEL } from './change-feed.ts';
import type { Tables } from './database.ts';

/**
 * Raises the epoch of each peer, once for each time that it is named, and announces the last one (`fenceMark`), in one statement.
 * @returns the epochs in the order of the names: of a peer that is named twice, the later one is newer
 */
export async function raiseEpochs(db: Kysely<Tables>, peers: readonly string[]): Promise<number[]> {
  const times = new Map<string, number>();
  for (const peer of peers) times.set(peer, (times.get(peer) ?? 0) + 1);
  // Every statement locks rows in this order, so that two of them cannot wait for each other.
  const named = [...times].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const { rows } = await sql<{ peer: string; epoch: string }>`with raised as (
      insert into kds_sessions (peer, epoch)
      select * from unnest(${named.map(([peer]) => peer)}::text[], ${named.map(([, count]) => count)}::bigint[])
      on conflict (peer) do update set epoch = kds_sessions.epoch + excluded.epoch returning peer, epoch)
    select peer, epoch::text as epoch, pg_notify(${CHANNEL}, json_build_object('mark', 'epoch ' || epoch || ' ' || peer)::text)
    from raised`.execute(db);
  const next = new Map(rows.map(({ peer, epoch }) => [peer, Number(epoch) - (times.get(peer) ?? 0)]));
  return peers.map((peer) => {
    const epoch = (next.get(peer) ?? 0) + 1;
    next.set(peer, epoch);
    return epoch;
  });
}
