// The store as the protocol sees it: a Source to follow and, per peer, a Sink to write.
import type { Sink, Source } from '../kds/ports.ts';
import type { FenceWatch } from '../store/fence-watch.ts';
import type { ResourceStore } from '../store/resource-store.ts';

export function sourceOf(store: ResourceStore): Source {
  return {
    list: (type) => store.list({ type }),
    getMany: (keys) => store.getMany(keys),
    changes: (signal) => store.changes(signal),
    mark: (id) => store.mark(id),
    deletedMeshes: (names) => store.deletedMeshes(names),
  };
}

/** Writes the resources of `peer`. Of two receivers for one peer only the newer can commit, and the older is notified. */
export function sinkOf(store: ResourceStore, peer: string, fences: Pick<FenceWatch, 'watch'> = NO_WATCH): Sink {
  return {
    getMany: (keys) => store.getMany(keys),
    listMeta: (types, scope) => store.listMeta({ types, ...scope }),
    write: (writes, epoch) => store.writeBatch(writes, { peer, epoch }),
    acquireFencingToken: () => store.acquireFencingToken(peer),
    watchEpoch: (epoch, lost) => fences.watch({ peer, epoch }, lost),
  };
}

/** The fence then holds at the next write. */
const NO_WATCH = { watch: () => () => undefined };
