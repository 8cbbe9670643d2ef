// Pages of lists, given again for as long as nothing is committed: one small question to the database in place of three. Invariants:
// a page is given out only in the snapshot before which nothing of it was read; what is kept is bounded.
import type { TypeInfo } from '../resource/type-registry.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { PageQuery } from './list-query.ts';
import { totalOf, type RowFilter } from './list-rows.ts';
import { RenderedRows, type RenderedItems } from './rendered-rows.ts';

/** Characters of all pages together. */
const MOST_CHARACTERS = 8_000_000;

export type ListPage = RenderedItems & { readonly total: number };

type Store = Pick<ResourceStore, 'snapshot' | 'listStamps' | 'getMany' | 'count'>;
type Kept = { readonly snapshot: string; readonly page: ListPage };

export class ListPages {
  readonly #store: Store;
  readonly #rendered: RenderedRows;
  /** In the order of their last use. */
  readonly #kept = new Map<string, Kept>();
  #characters = 0;

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
    const kept = known?.snapshot === snapshot ? known.page : await this.#read(info, where, page, requireMesh);
    this.#keep(key, { snapshot, page: kept });
    return kept;
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

  #keep(key: string, kept: Kept): void {
    this.#forget(key);
    this.#kept.set(key, kept);
    this.#characters += kept.page.characters;
    for (const oldest of this.#kept.keys()) {
      if (this.#characters <= MOST_CHARACTERS) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#characters -= this.#kept.get(key)?.page.characters ?? 0;
    this.#kept.delete(key);
  }
}
