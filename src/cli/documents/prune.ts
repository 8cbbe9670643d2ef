// `apply --prune`: the resources with the given labels that the files no longer have. Meshes stay: one takes everything in it along.
import { storedNameOf } from '../../document/read-document.ts';
import { textOf } from '../../resource/read-json.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { ApiClient, Item } from '../client/api-client.ts';
import type { Selection } from '../client/selector.ts';
import { exportedTypes, isCopy, isDerived } from './apply-order.ts';
import type { ResourceDocument } from './read-files.ts';

/** @property name stored name */
export type Pruned = { readonly info: TypeInfo; readonly mesh: string; readonly name: string };

/** In the order in which they can be deleted. Secrets, copies of other control planes and computed resources stay. */
export async function resourcesToPrune(
  client: ApiClient,
  documents: readonly ResourceDocument[],
  { filter, matches }: Selection,
): Promise<Pruned[]> {
  const { mode } = await client.index();
  const kept = new Set(documents.map((document) => keyOf({ ...document, name: storedNameOf(document) })));
  const found: Pruned[] = [];
  for (const info of exportedTypes({ secrets: false, mode })) {
    if (info.name === 'Mesh') continue;
    const isChosen = (item: Item): boolean =>
      !isCopy(item, mode) && !isDerived(item) && (matches === null || matches(item.labels ?? {}));
    for (const item of await client.list(info, undefined, filter, isChosen)) {
      const one = { info, mesh: textOf(item.mesh), name: item.name };
      if (!kept.has(keyOf(one))) found.push(one);
    }
  }
  return found.toReversed();
}

function keyOf({ info, mesh, name }: Pruned): string {
  return JSON.stringify([info.name, mesh, name]);
}
