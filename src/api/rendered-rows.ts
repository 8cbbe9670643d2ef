// Rows as the text that they are in a list, kept from one page to the next: most of what a page costs is to parse and print what
// did not change. Invariants: a text is given out only for the stamp that it was made for; what is kept is bounded.
import { LRUCache } from 'lru-cache';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import type { ResourceKey } from '../resource/types.ts';
import type { ListQuery, ResourceStore, Stamp } from '../store/resource-store.ts';
import { SharedCalls } from '../store/shared-calls.ts';
import { bodyOf } from './resource-body.ts';

/** Characters of all texts together, keys included. */
const MOST_CHARACTERS = 16_000_000;

export type RenderedItems = {
  readonly count: number;
  /** Of the items. */
  readonly characters: number;
  /** The items between two texts, in UTF-8; who shares a page and says the same around it shares the bytes. */
  readonly between: (head: string, tail: string) => Buffer;
};
type Rendered = { readonly stamp: string; readonly text: string };

export class RenderedRows {
  readonly #store: Pick<ResourceStore, 'listStamps' | 'getMany'>;
  readonly #rendered = new LRUCache<string, Rendered>({
    maxSize: MOST_CHARACTERS,
    sizeCalculation: ({ text }, id) => text.length + id.length,
  });
  readonly #shared = new SharedCalls();

  constructor(store: Pick<ResourceStore, 'listStamps' | 'getMany'>) {
    this.#store = store;
  }

  /** The items of a page as the value of `"items"`, and how many they are. Who asks the same meanwhile gets the same. */
  async items(info: TypeInfo, query: ListQuery): Promise<RenderedItems> {
    return await this.#shared.call(JSON.stringify(query), async () => {
      const texts = await this.#textsOf(info, await this.#store.listStamps(query));
      const items = texts.length === 0 ? '[]' : `[\n  ${texts.join(',\n  ')}\n ]`;
      return { count: texts.length, characters: items.length, between: wrapper(items) };
    });
  }

  /** In the order of the stamps; a row that goes meanwhile is left out. */
  async #textsOf(info: TypeInfo, stamps: readonly Stamp[]): Promise<string[]> {
    const texts = stamps.map((stamp) => this.#take(stamp));
    const missing = stamps.filter((_, index) => texts[index] === undefined);
    if (missing.length === 0) return texts.filter((text) => text !== undefined);
    const rows = new Map((await this.#store.getMany(missing)).map((row) => [idOf(row), row]));
    return stamps.flatMap((stamp, index) => {
      const known = texts[index];
      if (known !== undefined) return [known];
      const row = rows.get(idOf(stamp));
      if (row === undefined) return [];
      const text = JSON.stringify(bodyOf(info, row), null, 1).replaceAll('\n', '\n  ');
      // It may be newer than its stamp; then the next stamp is another, and it is made again.
      this.#keep(stamp, text);
      return [text];
    });
  }

  #take(key: Stamp): string | undefined {
    const known = this.#rendered.get(idOf(key));
    return known?.stamp === key.stamp ? known.text : undefined;
  }

  #keep(key: Stamp, text: string): void {
    // Secrets are not kept anywhere longer than they are needed.
    if (findType(key.type)?.adminOnly === false) this.#rendered.set(idOf(key), { stamp: key.stamp, text });
  }
}

function wrapper(items: string): RenderedItems['between'] {
  let last: { readonly head: string; readonly tail: string; readonly bytes: Buffer } | null = null;
  return (head, tail) => {
    if (last?.head !== head || last.tail !== tail) last = { head, tail, bytes: Buffer.from(head + items + tail) };
    return last.bytes;
  };
}

function idOf({ type, mesh, name }: ResourceKey): string {
  return `${type}\n${mesh}\n${name}`;
}
