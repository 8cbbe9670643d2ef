// The initial access: the signing key of user tokens and the token of the admin, as secrets (rest-api 5, kds-wire 9). Every write is
// a create, so a second run changes nothing, and a rotated key is not recreated.
import { create, createAbsent } from '../defaults/create-defaults.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { createSigningKey } from '../defaults/signing-key.ts';
import { secretSpec } from '../resource/secret-data.ts';
import type { ResourceKey } from '../resource/types.ts';
import { loadRealm } from './token-secrets.ts';
import { issueUserToken, TEN_YEARS_MS } from './token-issuer.ts';
import { userRealm } from './token-realm.ts';
import { adminClaims } from './authenticate-request.ts';

/** The GlobalSecret with the admin's token in base64; read it from the machine of the control plane. It is never synced. */
export const adminTokenKey: ResourceKey = { type: 'GlobalSecret', mesh: '', name: 'admin-user-token' };

type AdminTokenOptions = {
  /** The value of `apiServer.authn.tokens.bootstrapAdminToken`. */
  readonly bootstrapAdminToken: boolean;
  readonly now: () => Date;
};

/**
 * Creates GlobalSecret `user-token-signing-key-1` if no key with any serial exists, then `admin-user-token` if it is absent. Call it
 * on the leader of every control plane: each has its own.
 * @throws MeridianError `internal` when the newest key cannot be read or the store refuses a row
 */
export async function createAdminToken(store: ResourceStore, options: AdminTokenOptions): Promise<void> {
  const { secretType: type, keyName } = userRealm;
  const rows = await store.list({ type, nameContains: keyName });
  if (!rows.some(({ name }) => name.startsWith(keyName))) {
    await createAbsent(store, [create({ type, mesh: '', name: `${keyName}-1` }, {}, secretSpec(await createSigningKey()))]);
  }
  if (!options.bootstrapAdminToken || (await store.get(adminTokenKey)) !== undefined) return;
  const { keys } = await loadRealm(store, userRealm);
  const token = await issueUserToken(keys, adminClaims, TEN_YEARS_MS, options.now());
  await createAbsent(store, [create(adminTokenKey, {}, secretSpec(token))]);
}
