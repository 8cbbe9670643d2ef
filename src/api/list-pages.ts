// Caches pages of lists until the next commit: a cached page costs one small query. Invariants: the key of a page is the snapshot
// that all its rows are from. The cache is bounded.
import { LRUCache } from 'lru-cache';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { PageQuery } from './list-query.ts';
import type { RowFilter } from './list-rows.ts';
import { RenderedRows, type RenderedPage } from './rendered-rows.ts';

/** Characters of all pages together, each counted as text, as bytes, and with its key. */
const MAX_SIZE = 16_000_000;
/** Larger ones would leave room for few others. */
const MAX_ENTRY_SIZE = MAX_SIZE / 4;
/** What a page costs besides, roughly. */
const OVERHEAD = 500;

type Store = Pick<ResourceStore, 'snapshot' | 'listVersions' | 'getVersioned'>;

export class ListPages {
  readonly #store: Store;
  readonly #rendered: RenderedRows;
  readonly #kept = new LRUCache<string, RenderedPage>({
    ...{ maxSize: MAX_SIZE, maxEntrySize: MAX_ENTRY_SIZE },
    sizeCalculation: ({ characters }, key) => 2 * characters + key.length + OVERHEAD,
  });

  constructor(store: Store) {
    this.#store = store;
    this.#rendered = new RenderedRows(store);
  }

  /** @param requireMesh throws where the mesh of `where` does not exist */
  async page(
    info: TypeInfo,
    where: RowFilter['where'],
    page: PageQuery,
    requireMesh: () => Promise<void>,
  ): Promise<RenderedPage> {
    const query = { ...where, limit: page.size, offset: page.offset };
    const key = JSON.stringify(query);
    const known = this.#kept.get(key);
    if (known !== undefined && known.snapshot === (await this.#store.snapshot())) return known;
    const read = await this.#rendered.page(info, query);
    // Afterwards: of a mesh that goes meanwhile no page is kept.
    await requireMesh();
    // Secrets are not kept anywhere longer than they are needed.
    if (read.snapshot !== null && !info.adminOnly) this.#kept.set(key, read);
    return read;
  }
}
