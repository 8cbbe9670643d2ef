// Pages of lists, given again for as long as nothing is committed: one small question to the database in place of three. Invariants:
// a page is kept under a snapshot that is older than all it was read from, so who finds it there misses nothing; what is kept is bounded.
import { LRUCache } from 'lru-cache';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { PageQuery } from './list-query.ts';
import { totalOf, type RowFilter } from './list-rows.ts';
import { RenderedRows, type RenderedItems } from './rendered-rows.ts';

/** Of all pages together, each counted as text, as bytes, and with its key. */
const MOST_SIZE = 16_000_000;

export type ListPage = RenderedItems & { readonly total: number };

type Store = Pick<ResourceStore, 'snapshot' | 'listStamps' | 'getMany' | 'count'>;
type Kept = { readonly snapshot: string; readonly page: ListPage };

export class ListPages {
  readonly #store: Store;
  readonly #rendered: RenderedRows;
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: MOST_SIZE,
    sizeCalculation: ({ page }, key) => 2 * page.characters + key.length,
  });

  constructor(store: Store) {
    this.#store = store;
    this.#rendered = new RenderedRows(store);
  }

  /** @param requireMesh throws where the mesh of `where` does not exist */
  async page(info: TypeInfo, where: RowFilter['where'], page: PageQuery, requireMesh: () => Promise<void>): Promise<ListPage> {
    // Secrets are not kept anywhere longer than they are needed.
    const snapshot = info.adminOnly ? null : await this.#store.snapshot();
    if (snapshot === null) return await this.#read(info, where, page, requireMesh);
    const key = JSON.stringify([where, page.size, page.offset]);
    const known = this.#kept.get(key);
    if (known?.snapshot === snapshot) return known.page;
    const read = await this.#read(info, where, page, requireMesh);
    this.#kept.set(key, { snapshot, page: read });
    return read;
  }

  async #read(info: TypeInfo, where: RowFilter['where'], page: PageQuery, requireMesh: () => Promise<void>): Promise<ListPage> {
    const reading = Promise.all([
      this.#rendered.items(info, { ...where, limit: page.size, offset: page.offset }),
      this.#store.count(where),
    ]);
    // Of two failures that of the mesh is told.
    reading.catch(() => undefined);
    await requireMesh();
    const [items, counted] = await reading;
    return { ...items, total: totalOf(counted, page, items.count) };
  }
}
