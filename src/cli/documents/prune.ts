// `apply --prune`: deletes the resources with the given labels that the files no longer have. Meshes and Zones stay: a Mesh takes
// everything in it along, and a Zone the copies of its zone.
import { MeridianError } from '../../base/errors.ts';
import { storedNameOf } from '../../document/read-document.ts';
import { textOf } from '../../resource/read-json.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { ApiClient, Item } from '../client/api-client.ts';
import type { Selection } from '../client/selector.ts';
import { exportedTypes, isComputed, isCopy } from './apply-order.ts';
import type { ResourceDocument } from './read-files.ts';

/** @property name stored name */
type Named = { readonly info: TypeInfo; readonly mesh: string; readonly name: string };
/** @property failure why the control plane does not delete it; null if it is deleted */
export type Pruned = Named & { readonly failure: string | null };

const KEPT: ReadonlySet<string> = new Set(['Mesh', 'Zone']);

/**
 * Deletes what `resourcesToPrune` finds; with `dryRun` it asks whether each can be deleted. A refused deletion does not end it.
 * @throws MeridianError `unavailable`
 */
export async function* prune(
  client: ApiClient,
  documents: readonly ResourceDocument[],
  { selection, dryRun }: { readonly selection: Selection; readonly dryRun: boolean },
): AsyncGenerator<Pruned> {
  for (const one of await resourcesToPrune(client, documents, selection)) {
    const { info, mesh, name } = one;
    try {
      if (dryRun) await client.planDelete(info, mesh, name);
      else await client.delete(info, mesh, name);
      yield { ...one, failure: null };
    } catch (error) {
      if (!(error instanceof MeridianError) || error.code === 'unavailable') throw error;
      // Another deletion has taken it along.
      yield { ...one, failure: error.code === 'not_found' ? null : reasonOf(error) };
    }
  }
}

/** The reason of a refusal. Violations are reasons of their own, without the title of the answer. */
export function reasonOf({ message, violations }: MeridianError): string {
  return violations.length > 0 ? violations.map(({ reason }) => reason).join('; ') : message;
}

/**
 * The resources to delete, in the order in which they can be deleted. Secrets, copies of other control planes and computed
 * resources stay.
 */
async function resourcesToPrune(
  client: ApiClient,
  documents: readonly ResourceDocument[],
  { filter, matches }: Selection,
): Promise<Named[]> {
  const { mode, product } = await client.index();
  const kept = new Set(documents.map((document) => keyOf({ ...document, name: storedNameOf(document) })));
  const found: Named[] = [];
  for (const info of exportedTypes({ secrets: false, mode, product })) {
    if (KEPT.has(info.name)) continue;
    const isChosen = (item: Item): boolean =>
      !isCopy(item, mode) && !isComputed(item) && (matches === null || matches(item.labels ?? {}));
    for (const item of await client.list(info, undefined, filter, isChosen)) {
      const one = { info, mesh: textOf(item.mesh), name: item.name };
      if (!kept.has(keyOf(one))) found.push(one);
    }
  }
  return found.toReversed();
}

function keyOf({ info, mesh, name }: Named): string {
  return JSON.stringify([info.name, mesh, name]);
}
