// Notifies a receiver when a newer one of its peer opens, in any process: `acquireFencingToken` sends a mark through the feed. The
// fence of `writeBatch` does not depend on it. The notification ends the older stream before its next write, so that the peer
// compares again.
import { FeedFollower, type Following, type Hints } from './follow-feed.ts';
import type { Fence, ResourceStore } from './resource-store.ts';

const MARK = /^epoch (\d+) ([^]*)$/;

/** The mark that `acquireFencingToken` sends. */
export function fenceMark({ peer, epoch }: Fence): string {
  return `epoch ${String(epoch)} ${peer}`;
}

type Store = Pick<ResourceStore, 'changes' | 'mark' | 'epochs'>;
type Watched = { readonly epoch: number; readonly lost: () => void };

export class FenceWatch {
  readonly #store: Store;
  readonly #follower: FeedFollower;
  readonly #watched = new Map<string, Set<Watched>>();
  /** The newest announced epoch of each peer. A mark may arrive before the older receiver watches. */
  readonly #newest = new Map<string, number>();

  constructor(store: Store, following: Following) {
    this.#store = store;
    this.#follower = new FeedFollower({ ...following, store, types: [], isMark: (id) => MARK.test(id) });
  }

  /** Follows the feed until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#follower.run((hints) => this.#apply(hints), signal);
  }

  /** Calls `lost` once when a newer epoch than this one is open. Returns a function that stops it. */
  watch({ peer, epoch }: Fence, lost: () => void): () => void {
    const watched = { epoch, lost };
    this.#watched.set(peer, (this.#watched.get(peer) ?? new Set()).add(watched));
    this.#announce(peer, epoch);
    return () => this.#drop(peer, watched);
  }

  async #apply({ all, marks }: Hints): Promise<void> {
    if (all) {
      // Earlier marks may be lost, and the database may be another one.
      this.#newest.clear();
      for (const { peer, epoch } of await this.#store.epochs([...this.#watched.keys()])) this.#announce(peer, epoch);
    }
    for (const mark of marks) {
      const [, epoch, peer = ''] = MARK.exec(mark) ?? [];
      this.#announce(peer, Number(epoch));
    }
  }

  #announce(peer: string, epoch: number): void {
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
