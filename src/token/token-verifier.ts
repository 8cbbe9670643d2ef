// Decides whether a token is valid: its algorithm, key, signature, times and claims, and that it is not revoked (rest-api 5).
// Invariant: any text gives an answer; only an unavailable store rejects.
import { LRUCache } from 'lru-cache';
import { kidOfJwt, showKid, verifyJwt, type Refused } from './jwt.ts';
import {
  readDataplaneClaims,
  readUserClaims,
  readZoneClaims,
  type DataplaneClaims,
  type Read,
  type UserClaims,
  type ZoneClaims,
} from './token-claims.ts';
import { dataplaneRealm, userRealm, type TokenRealm } from './token-realm.ts';
import type { RealmSecrets, TokenSecrets } from './token-secrets.ts';
import type { Claims } from './jwt.ts';

export type Verified<T> = { readonly ok: true; readonly claims: T; readonly id: string; readonly expiresAt: Date };

/** The number of remembered tokens of a realm, each of at most 8 kB. */
const MAX_FORGED = 256;

/** Each method rejects only with MeridianError `unavailable`, while the store is unavailable. */
export class TokenVerifier {
  readonly #secrets: TokenSecrets;
  readonly #now: () => Date;
  /** Tokens with a signature that is of no key, until the keys change: a second look at one costs nothing. */
  readonly #forged = new WeakMap<RealmSecrets, LRUCache<string, Refused>>();

  constructor(secrets: TokenSecrets, now: () => Date) {
    this.#secrets = secrets;
    this.#now = now;
  }

  async user(token: string): Promise<Verified<UserClaims> | Refused> {
    return await this.#verify(token, userRealm, readUserClaims);
  }

  async zone(token: string): Promise<Verified<ZoneClaims> | Refused> {
    return await this.#verify(token, this.#secrets.zoneRealm, readZoneClaims);
  }

  /** @param mesh the requested mesh; a token of another mesh is invalid */
  async dataplane(token: string, mesh: string): Promise<Verified<DataplaneClaims> | Refused> {
    const outcome = await this.#verify(token, dataplaneRealm(mesh), readDataplaneClaims);
    if (!outcome.ok || outcome.claims.mesh === mesh) return outcome;
    return { ok: false, reason: `is for mesh ${JSON.stringify(outcome.claims.mesh)}, not for ${JSON.stringify(mesh)}` };
  }

  async #verify<T>(token: string, realm: TokenRealm, read: (claims: Claims) => Read<T>): Promise<Verified<T> | Refused> {
    const header = kidOfJwt(token);
    if (!header.ok) return header;
    const secrets = await this.#secrets.of(realm);
    const forged = this.#forgedFor(secrets);
    const known = forged.get(token);
    if (known !== undefined) return known;
    const { keys, revoked } = secrets;
    const key = keys.find(header.kid);
    if (key === undefined) return { ok: false, reason: `is signed by key ${showKid(header.kid)}, which is not known here` };
    if ('problem' in key) return { ok: false, reason: `cannot be checked: ${key.problem}` };
    const signed = await verifyJwt(token, key.kid, key.publicKey, this.#now());
    if (!signed.ok) {
      const refusal: Refused = { ok: false, reason: signed.reason };
      if (signed.isForged === true) forged.set(token, refusal);
      return refusal;
    }
    const { id, expiresAt } = signed;
    if (revoked.has(id)) return { ok: false, reason: 'was revoked' };
    const claims = read(signed.claims);
    return claims.ok ? { ok: true, claims: claims.value, id, expiresAt } : claims;
  }

  #forgedFor(secrets: RealmSecrets): LRUCache<string, Refused> {
    let forged = this.#forged.get(secrets);
    if (forged === undefined) this.#forged.set(secrets, (forged = new LRUCache<string, Refused>({ max: MAX_FORGED })));
    return forged;
  }
}
