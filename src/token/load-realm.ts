// One read of all that a realm keeps in the store: its signing keys and the identifiers that were revoked.
import type { ResourceStore } from '../store/resource-store.ts';
import { KeySet, type StaticKey } from './key-set.ts';
import type { TokenRealm } from './token-realm.ts';

export type RealmSecrets = { readonly keys: KeySet; readonly revoked: ReadonlySet<string> };

/** Two reads of the store, side by side. Rejects as the store does. */
export async function loadRealm(
  store: Pick<ResourceStore, 'get' | 'list'>,
  realm: TokenRealm,
  extra: readonly StaticKey[] = [],
): Promise<RealmSecrets> {
  const { secretType: type, mesh, keyName, revocations } = realm;
  const [rows, list] = await Promise.all([
    store.list({ type, ...(mesh !== '' && { mesh }), nameContains: keyName }),
    store.get({ type, mesh, name: revocations }),
  ]);
  return { keys: new KeySet(realm, rows, extra), revoked: parseRevocations(list?.spec['data']) };
}

/** `jti`s in base64, separated by commas; spaces and line ends around them do not count. */
function parseRevocations(data: unknown): ReadonlySet<string> {
  if (typeof data !== 'string') return new Set();
  const ids = Buffer.from(data, 'base64').toString('utf8').split(',');
  return new Set(ids.map((id) => id.trim()).filter((id) => id !== ''));
}
