// Caches pages of lists until the next commit: a cached page costs one small query. Invariants: all rows of a page are from the
// snapshot of the page, which is returned only for that snapshot. The cache is bounded.
import { LRUCache } from 'lru-cache';
import type { FairQueue } from '../base/fair-queue.ts';
import { printSteps } from '../base/print-json.ts';
import { mapInSteps, type Steps } from '../base/steps.ts';
import { toUniversal } from '../document/universal-form.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { SingleFlight } from '../store/single-flight.ts';
import type { PageQuery } from '../http/list-query.ts';
import type { RowFilter } from './list-rows.ts';

/** The limit of all pages together in bytes, each counted without its head and with it, and with its key. */
const MAX_SIZE = 16_000_000;
/** The limit of one page, so that others fit beside it. */
const MAX_ENTRY_SIZE = MAX_SIZE / 4;
/** The approximate overhead of a page, in bytes. */
const OVERHEAD = 500;

type PrintedPage = {
  /** The number of rows on all pages. */
  readonly total: number;
  /** The size of the items. */
  readonly bytes: number;
  /** It is null if the database cannot tell. */
  readonly snapshot: string | null;
  /** The items between two texts, in UTF-8. Callers with the same page and the same texts share the bytes. */
  readonly between: (head: string, tail: string) => Buffer;
};

type Store = Pick<ResourceStore, 'snapshot' | 'listPage'>;

export class ListPages {
  readonly #store: Store;
  readonly #queue: FairQueue;
  readonly #shared = new SingleFlight();
  readonly #kept = new LRUCache<string, PrintedPage>({
    ...{ maxSize: MAX_SIZE, maxEntrySize: MAX_ENTRY_SIZE },
    sizeCalculation: ({ bytes }, key) => 2 * bytes + key.length + OVERHEAD,
  });

  /** @param queue prints the pages */
  constructor(store: Store, queue: FairQueue) {
    this.#store = store;
    this.#queue = queue;
  }

  /**
   * Concurrent callers of one page share a read, which goes on when the first of them leaves.
   * @param requireMesh throws if the mesh of `where` does not exist
   * @param caller the first caller, in whose place of the queue the page is printed
   */
  async page(
    info: TypeInfo,
    where: RowFilter['where'],
    page: PageQuery,
    requireMesh: () => Promise<void>,
    caller = '',
  ): Promise<PrintedPage> {
    const query = { ...where, limit: page.size, offset: page.offset };
    const key = JSON.stringify(query);
    const known = this.#kept.get(key);
    if (known !== undefined && known.snapshot === (await this.#store.snapshot())) return known;
    return await this.#shared.call(key, async () => {
      const { rows, total, snapshot } = await this.#store.listPage(query);
      const printed = await this.#queue.run(caller, printedRows(info, rows));
      const items = printed.subarray(printed.indexOf('['), printed.lastIndexOf('\n'));
      const read = { total, bytes: items.length, snapshot, between: wrapper(items) };
      // Check after the read: a page of a mesh that was deleted meanwhile must not be cached.
      await requireMesh();
      // Secrets are not cached.
      if (snapshot !== null && !info.adminOnly) this.#kept.set(key, read);
      return read;
    });
  }
}

function* printedRows(info: TypeInfo, rows: readonly Resource[]): Steps<Buffer> {
  return yield* printSteps({ items: yield* mapInSteps(rows, (row) => toUniversal(info, row)) });
}

function wrapper(items: Buffer): PrintedPage['between'] {
  let last: { readonly head: string; readonly tail: string; readonly bytes: Buffer } | null = null;
  return (head, tail) => {
    if (last?.head !== head || last.tail !== tail)
      last = { head, tail, bytes: Buffer.concat([Buffer.from(head), items, Buffer.from(tail)]) };
    return last.bytes;
  };
}
