// The ids of revoked tokens: one secret holds all of them, with commas between (rest-api 5).
import { secretSpec, secretText } from './secret-data.ts';
import type { TypeInfo } from './type-registry.ts';
import type { JsonObject, Resource, ResourceKey } from './types.ts';

/** The list of revoked zone tokens, a GlobalSecret. */
export const ZONE_TOKEN_REVOCATIONS = 'zone-token-revocations';

/** The list of revoked dataplane tokens, a Secret of the mesh. */
export function dataplaneTokenRevocations(mesh: string): string {
  return `dataplane-token-revocations-${mesh}`;
}

/**
 * Whether this is the name of a list that a zone gets from its global. Of two lists of one name the one of global counts: a row
 * of the zone in its place would keep revoked tokens valid.
 */
export function isListOfGlobal(
  { name: type }: Pick<TypeInfo, 'name'>,
  { mesh, name }: Pick<ResourceKey, 'mesh' | 'name'>,
): boolean {
  if (type === 'GlobalSecret') return name === ZONE_TOKEN_REVOCATIONS;
  return type === 'Secret' && name === dataplaneTokenRevocations(mesh);
}

/** The ids in the order of the secret, without surrounding white space. */
export function revokedIds(secret: Pick<Resource, 'spec'>): string[] {
  const ids = secretText(secret).split(',');
  return ids.map((id) => id.trim()).filter((id) => id !== '');
}

/** The spec of a secret with these ids. */
export function revocationsSpec(ids: readonly string[]): JsonObject {
  return secretSpec(ids.join(','));
}
