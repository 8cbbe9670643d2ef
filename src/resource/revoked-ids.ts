// The ids of revoked tokens: one secret holds all of them, with commas between (rest-api 5).
import { secretSpec, secretText } from './secret-data.ts';
import type { JsonObject, Resource } from './types.ts';

/** In the order of the secret, without surrounding white space. */
export function revokedIds(secret: Pick<Resource, 'spec'>): string[] {
  const ids = secretText(secret).split(',');
  return ids.map((id) => id.trim()).filter((id) => id !== '');
}

/** The spec of a secret with these ids. */
export function revocationsSpec(ids: readonly string[]): JsonObject {
  return secretSpec(ids.join(','));
}
