// Whether a control plane issued a token: each refuses only the user tokens that it signed itself.
import { MeridianError } from '../../base/errors.ts';
import { typeOf } from '../../resource/type-registry.ts';
import type { TokenRealm } from '../../token/token-realm.ts';
import type { ApiClient } from './api-client.ts';

/** `unknown`: the keys cannot be read, or the key is not among them. It may be one of `validator.publicKeys`. */
export type Issued = 'here' | 'elsewhere' | 'unknown';

/** Compares the signature with the signing keys of the realm. @throws MeridianError `unavailable` */
export async function whereIssued(client: Pick<ApiClient, 'list'>, realm: TokenRealm, token: string): Promise<Issued> {
  const { isSignedBy, kidOfJwt } = await import('../../token/jwt.ts');
  const { KeySet } = await import('../../token/key-set.ts');
  const header = kidOfJwt(token);
  if (!header.ok) return 'elsewhere';
  const rows = await client.list(typeOf(realm.secretType), realm.mesh, { name: realm.keyName }).catch((error: unknown) => {
    if (!(error instanceof MeridianError) || error.code === 'unavailable') throw error;
    return [];
  });
  const keys = new KeySet(
    realm,
    rows.map((row) => ({ name: row.name, spec: row })),
  );
  const key = keys.find(header.kid);
  if (key === undefined || 'problem' in key) return 'unknown';
  return (await isSignedBy(token, key.publicKey)) ? 'here' : 'elsewhere';
}
