// Caches the JSON text of rows for lists: most of the cost of a page is to parse and print unchanged rows. Invariants: the key of a
// text is the rowVersion of its row. The cache is bounded.
import { LRUCache } from 'lru-cache';
import type { TypeInfo } from '../resource/type-registry.ts';
import { keyText } from '../resource/types.ts';
import type { ListQuery, ResourceStore, RowVersion, VersionedRow } from '../store/resource-store.ts';
import { SingleFlight } from '../store/single-flight.ts';
import { toUniversal } from '../document/universal-form.ts';

/** Characters of all texts together, keys included. */
const MAX_CHARACTERS = 16_000_000;

export type RenderedPage = {
  /** How many rows there are on all pages. */
  readonly total: number;
  /** Of the items. */
  readonly characters: number;
  /** All of the page is from it; null where some of it may not be, or the database cannot tell. */
  readonly snapshot: string | null;
  /** The items between two texts, in UTF-8. Callers with the same page and the same texts share the bytes. */
  readonly between: (head: string, tail: string) => Buffer;
};
type Store = Pick<ResourceStore, 'listVersions' | 'getVersioned'>;
type Rendered = { readonly rowVersion: string; readonly text: string };

export class RenderedRows {
  readonly #store: Store;
  readonly #rendered = new LRUCache<string, Rendered>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ text }, id) => text.length + id.length,
  });
  readonly #shared = new SingleFlight();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Who asks the same meanwhile gets the same. */
  async page(info: TypeInfo, query: ListQuery): Promise<RenderedPage> {
    return await this.#shared.call(JSON.stringify(query), async () => {
      const { rowVersions, total, snapshot } = await this.#store.listVersions(query);
      const { texts, isExact } = await this.#textsOf(info, rowVersions);
      const items = texts.length === 0 ? '[]' : `[\n  ${texts.join(',\n  ')}\n ]`;
      return { total, characters: items.length, snapshot: isExact ? snapshot : null, between: wrapper(items) };
    });
  }

  /** In the order of the rowVersions. A row that is deleted meanwhile is left out; a changed row has its new content. */
  async #textsOf(info: TypeInfo, rowVersions: readonly RowVersion[]): Promise<{ texts: string[]; isExact: boolean }> {
    const known = rowVersions.map((rowVersion) => this.#take(rowVersion));
    const missing = rowVersions.filter((_, index) => known[index] === undefined);
    if (missing.length === 0) return { texts: known.filter((text) => text !== undefined), isExact: true };
    const found = new Map((await this.#store.getVersioned(missing)).map((versioned) => [keyText(versioned.row), versioned]));
    const texts = rowVersions.flatMap((key, index) => {
      const text = known[index];
      if (text !== undefined) return [text];
      const versioned = found.get(keyText(key));
      return versioned === undefined ? [] : [this.#render(info, versioned)];
    });
    return { texts, isExact: missing.every((key) => found.get(keyText(key))?.rowVersion === key.rowVersion) };
  }

  #render(info: TypeInfo, { row, rowVersion }: VersionedRow): string {
    const text = JSON.stringify(toUniversal(info, row), null, 1).replaceAll('\n', '\n  ');
    // Secrets are not kept anywhere longer than they are needed.
    if (!info.adminOnly) this.#rendered.set(keyText(row), { rowVersion, text });
    return text;
  }

  #take(key: RowVersion): string | undefined {
    const known = this.#rendered.get(keyText(key));
    return known?.rowVersion === key.rowVersion ? known.text : undefined;
  }
}

function wrapper(items: string): RenderedPage['between'] {
  let last: { readonly head: string; readonly tail: string; readonly bytes: Buffer } | null = null;
  return (head, tail) => {
    if (last?.head !== head || last.tail !== tail) last = { head, tail, bytes: Buffer.from(head + items + tail) };
    return last.bytes;
  };
}
