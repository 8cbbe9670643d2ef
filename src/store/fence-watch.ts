// Notifies a receiver when a newer one of its peer opens, in any process: `acquireFencingToken` sends a mark through the feed. The
// fence of `writeBatch` does not depend on it. It ends the stream before the next write, so that the peer compares again.
import type { Fence, ResourceStore, StoreChange } from './resource-store.ts';

const MARK = /^epoch (\d+) ([^]*)$/;

/** The mark that `acquireFencingToken` sends. */
export function fenceMark({ peer, epoch }: Fence): string {
  return `epoch ${String(epoch)} ${peer}`;
}

type Watched = { readonly epoch: number; readonly lost: () => void };

export class FenceWatch {
  readonly #store: ResourceStore;
  readonly #watched = new Map<string, Set<Watched>>();
  /** The newest epoch that was heard of each peer, watched or not: a mark may come before its loser watches. */
  readonly #newest = new Map<string, number>();

  constructor(store: ResourceStore) {
    this.#store = store;
  }

  /** Follows the feed until the signal aborts. Throws when the store fails. The next run reads the missed changes. */
  async run(signal: AbortSignal): Promise<void> {
    for await (const change of this.#store.changes(signal)) await this.#follow(change);
  }

  /** Calls `lost` once when a newer epoch than this one is open. Returns the way to stop. */
  watch({ peer, epoch }: Fence, lost: () => void): () => void {
    const watched = { epoch, lost };
    this.#watched.set(peer, (this.#watched.get(peer) ?? new Set()).add(watched));
    this.#hear(peer, epoch);
    return () => this.#drop(peer, watched);
  }

  async #follow(change: StoreChange): Promise<void> {
    if (change.kind === 'mark') {
      const [, epoch, peer = ''] = MARK.exec(change.id) ?? [];
      if (epoch !== undefined) this.#hear(peer, Number(epoch));
    } else if (change.kind === 'all') {
      // Marks of before may be lost, and the database may be another one.
      this.#newest.clear();
      if (this.#watched.size === 0) return;
      for (const { peer, epoch } of await this.#store.epochs([...this.#watched.keys()])) this.#hear(peer, epoch);
    }
  }

  #hear(peer: string, epoch: number): void {
    const newest = Math.max(epoch, this.#newest.get(peer) ?? 0);
    this.#newest.set(peer, newest);
    for (const watched of [...(this.#watched.get(peer) ?? [])]) {
      if (watched.epoch >= newest) continue;
      this.#drop(peer, watched);
      watched.lost();
    }
  }

  #drop(peer: string, watched: Watched): void {
    const all = this.#watched.get(peer);
    all?.delete(watched);
    if (all?.size === 0) this.#watched.delete(peer);
  }
}
