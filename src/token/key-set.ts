// The signing keys of a realm, read from its rows: all verify, and the one with the highest serial signs (rest-api 5). An unusable
// row is kept with the reason, without its text.
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { compareText } from '../base/compare-text.ts';
import { MeridianError } from '../base/errors.ts';
import { secretText } from '../resource/secret-data.ts';
import type { Resource } from '../resource/types.ts';
import { describeSigningKey, kidOf, type TokenRealm } from './token-realm.ts';

type SigningKey = { readonly kid: string; readonly publicKey: KeyObject; readonly privateKey: KeyObject | null };
type UnusableKey = { readonly kid: string; readonly problem: string };

/** A public key of the configuration (`validator.publicKeys[]`), PEM. */
export type StaticKey = { readonly kid: string; readonly key: string };

/** The limit of keys of one realm. The oldest serials over it are dropped. */
const MAX_KEYS = 200;
const SERIAL = /^(0|[1-9]\d*)$/;

export class KeySet {
  readonly #realm: TokenRealm;
  readonly #keys = new Map<string, SigningKey | UnusableKey>();
  readonly #newest: string | null;

  /**
   * @param rows secrets of the realm's type and mesh; other names are ignored
   * @param extra additional public keys, with precedence over rows with the same kid
   */
  constructor(realm: TokenRealm, rows: readonly Pick<Resource, 'name' | 'spec'>[], extra: readonly StaticKey[] = []) {
    this.#realm = realm;
    const named = rows
      .map((row) => ({ row, kid: kidOf(realm, row.name) }))
      .filter((one): one is { row: Pick<Resource, 'name' | 'spec'>; kid: string } => one.kid !== null)
      .toSorted((a, b) => compareSerials(b.kid, a.kid))
      .slice(0, MAX_KEYS);
    for (const { row, kid } of named) this.#keys.set(kid, parseRow(realm, kid, row));
    this.#newest = named.find(({ kid }) => SERIAL.test(kid))?.kid ?? null;
    for (const { kid, key } of extra) this.#keys.set(kid, parseStatic(kid, key));
  }

  find(kid: string): SigningKey | UnusableKey | undefined {
    return this.#keys.get(kid);
  }

  /**
   * The key that signs now.
   * @throws MeridianError `not_found` without a key here, `internal` if the newest one is unreadable
   */
  signer(): { kid: string; privateKey: KeyObject } {
    const { kind, holds, mesh } = this.#realm;
    if (holds === 'public')
      throw new MeridianError('not_found', `${kind} tokens are signed by the global of this zone; ask for one there`);
    const found = this.#newest === null ? undefined : this.#keys.get(this.#newest);
    if (found === undefined) {
      const where = mesh === '' ? '' : `; does the mesh ${JSON.stringify(mesh)} exist?`;
      throw new MeridianError(
        'not_found',
        `there is no ${describeSigningKey(this.#realm, '1')} to sign ${kind} tokens with${where}`,
      );
    }
    if ('problem' in found) throw new MeridianError('internal', `${kind} tokens cannot be signed: ${found.problem}`);
    if (found.privateKey === null)
      throw new MeridianError('not_found', `the private half of key ${found.kid} is not known here; tokens are signed elsewhere`);
    return { kid: found.kid, privateKey: found.privateKey };
  }
}

/** Sorts serials by number, of any length. Other texts come first. */
function compareSerials(a: string, b: string): number {
  const byForm = Number(SERIAL.test(a)) - Number(SERIAL.test(b));
  return byForm || a.length - b.length || compareText(a, b);
}

function parseRow(realm: TokenRealm, kid: string, row: Pick<Resource, 'spec'>): SigningKey | UnusableKey {
  const pem = secretText(row);
  const form = realm.holds === 'private' ? 'RSA PRIVATE KEY' : 'RSA PUBLIC KEY';
  try {
    const privateKey = realm.holds === 'private' ? createPrivateKey(pem) : null;
    const publicKey = privateKey === null ? createPublicKey(pem) : createPublicKey(privateKey);
    if (isStrong(publicKey)) return { kid, publicKey, privateKey };
  } catch {
    // The error of the parser may quote the key.
  }
  return { kid, problem: `${describeSigningKey(realm, kid)} holds no PEM "${form}" of at least 2048 bits` };
}

function parseStatic(kid: string, pem: string): SigningKey | UnusableKey {
  try {
    const publicKey = createPublicKey(pem);
    if (isStrong(publicKey)) return { kid, publicKey, privateKey: null };
  } catch {
    // The error of the parser may quote the key.
  }
  return { kid, problem: `the public key ${JSON.stringify(kid)} of the configuration is no RSA key of at least 2048 bits` };
}

/** Whether a key is RSA of at least 2048 bits, as RS256 requires (rest-api 5). */
export function isStrong({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  return asymmetricKeyType === 'rsa' && Number(asymmetricKeyDetails?.modulusLength) >= 2048;
}
