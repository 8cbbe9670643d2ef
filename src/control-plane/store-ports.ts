// The store as the protocol sees it: a Source to follow and, per peer, a Sink to write (design 2).
import type { Sink, Source } from '../kds/ports.ts';
import type { ResourceStore } from '../store/resource-store.ts';

export function sourceOf(store: ResourceStore): Source {
  return {
    list: (type) => store.list({ type }),
    getMany: (keys) => store.getMany(keys),
    changes: (signal) => store.changes(signal),
    mark: (id) => store.mark(id),
  };
}

/** What `peer` sends is written here; of two receivers for one peer only the newer can commit (engine 11). */
export function sinkOf(store: ResourceStore, peer: string): Sink {
  return {
    getMany: (keys) => store.getMany(keys),
    outline: (types, scope) => store.outline({ types, ...scope }),
    write: (writes, epoch) => store.writeBatch(writes, { peer, epoch }),
    raiseEpoch: () => store.raiseEpoch(peer),
  };
}
