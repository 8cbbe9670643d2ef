// Answers that are a head and a long list in pages, read as one.
import type { JsonObject } from '../../resource/types.ts';
import type { ApiClient } from './api-client.ts';

const PAGE = 1_000;

/** The answer with every page of its list `key`; without `total` and `next`, which are about one page. */
export async function readPages(client: ApiClient, path: string, key: string): Promise<JsonObject> {
  const all: JsonObject[] = [];
  for (;;) {
    const answer = (await client.read(`${path}?size=${String(PAGE)}&offset=${String(all.length)}`)) as JsonObject;
    const items = answer[key] as JsonObject[];
    all.push(...items);
    const { next, total: _total, ...head } = answer;
    if (next === undefined || items.length === 0) return { ...head, [key]: all };
  }
}
