// Caches pages of lists until the next commit: a cached page costs one small query. Invariants: all rows of a page are from the
// snapshot of the page, which is returned only for that snapshot. The cache is bounded.
import { LRUCache } from 'lru-cache';
import { toUniversal } from '../document/universal-form.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { SingleFlight } from '../store/single-flight.ts';
import type { PageQuery } from './list-query.ts';
import type { RowFilter } from './list-rows.ts';

/** The character limit of all pages together, each counted as text, as bytes, and with its key. */
const MAX_SIZE = 16_000_000;
/** The limit of one page, so that others fit beside it. */
const MAX_ENTRY_SIZE = MAX_SIZE / 4;
/** The approximate overhead of a page, in bytes. */
const OVERHEAD = 500;

export type PrintedPage = {
  /** The number of rows on all pages. */
  readonly total: number;
  /** Of the items. */
  readonly characters: number;
  /** Null if the database cannot tell. */
  readonly snapshot: string | null;
  /** The items between two texts, in UTF-8. Callers with the same page and the same texts share the bytes. */
  readonly between: (head: string, tail: string) => Buffer;
};

type Store = Pick<ResourceStore, 'snapshot' | 'listPage'>;

export class ListPages {
  readonly #store: Store;
  readonly #shared = new SingleFlight();
  readonly #kept = new LRUCache<string, PrintedPage>({
    ...{ maxSize: MAX_SIZE, maxEntrySize: MAX_ENTRY_SIZE },
    sizeCalculation: ({ characters }, key) => 2 * characters + key.length + OVERHEAD,
  });

  constructor(store: Store) {
    this.#store = store;
  }

  /** Concurrent callers of one page share a read. @param requireMesh throws if the mesh of `where` does not exist */
  async page(info: TypeInfo, where: RowFilter['where'], page: PageQuery, requireMesh: () => Promise<void>): Promise<PrintedPage> {
    const query = { ...where, limit: page.size, offset: page.offset };
    const key = JSON.stringify(query);
    const known = this.#kept.get(key);
    if (known !== undefined && known.snapshot === (await this.#store.snapshot())) return known;
    return await this.#shared.call(key, async () => {
      const { rows, total, snapshot } = await this.#store.listPage(query);
      const printed = JSON.stringify({ items: rows.map((row) => toUniversal(info, row)) }, null, 1);
      const items = printed.slice(printed.indexOf('['), printed.lastIndexOf('\n'));
      const read = { total, characters: items.length, snapshot, between: wrapper(items) };
      // Check after the read: a page of a mesh that was deleted meanwhile must not be cached.
      await requireMesh();
      // Secrets are not cached.
      if (snapshot !== null && !info.adminOnly) this.#kept.set(key, read);
      return read;
    });
  }
}

function wrapper(items: string): PrintedPage['between'] {
  let last: { readonly head: string; readonly tail: string; readonly bytes: Buffer } | null = null;
  return (head, tail) => {
    if (last?.head !== head || last.tail !== tail) last = { head, tail, bytes: Buffer.from(head + items + tail) };
    return last.bytes;
  };
}
