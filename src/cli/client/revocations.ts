// Adds the id of a token to the list of revoked ids (rest-api 5).
// Invariant: an id that another writer adds at the same time is not lost, if the control plane has ETags. Without them an id that was lost
// before the list is read again is added again.
import { MeridianError } from '../../base/errors.ts';
import { revocationsSpec, revokedIds } from '../../resource/revoked-ids.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { JsonObject } from '../../resource/types.ts';
import type { ApiClient } from './api-client.ts';

const ATTEMPTS = 5;

type RevocationList = { readonly info: TypeInfo; readonly mesh: string; readonly name: string };

/**
 * @returns false if the id was already in the list
 * @throws MeridianError `conflict` if other writers are faster each time
 */
export async function addRevocation(
  client: Pick<ApiClient, 'getTagged' | 'put'>,
  { info, mesh, name }: RevocationList,
  id: string,
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const found = await client.getTagged(info, mesh, name);
    const before: JsonObject = found?.item ?? { type: info.name, ...(mesh !== '' && { mesh }), name };
    const ids = revokedIds({ spec: before });
    if (ids.includes(id)) return false;
    try {
      const conditions = { ifMatch: found?.etag, isNew: found === undefined };
      await client.put(info, mesh, name, { ...before, ...revocationsSpec([...ids, id]) }, conditions);
      const stored = await client.getTagged(info, mesh, name);
      if (stored !== undefined && revokedIds({ spec: stored.item }).includes(id)) return true;
      if (attempt === ATTEMPTS)
        throw new MeridianError('conflict', 'the list of revoked ids is being written by others; try again');
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof MeridianError) || error.code !== 'conflict') throw error;
    }
  }
}
