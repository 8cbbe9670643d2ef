// Issues tokens: claims, times and the signature of the newest key (rest-api 5). The caller checks access before.
import { randomUUID } from 'node:crypto';
import { MeridianError } from '../base/errors.ts';
import { MAX_TOKEN, signJwt, type Claims } from './jwt.ts';
import type { KeySet } from './key-set.ts';
import type { DataplaneClaims, UserClaims, ZoneClaims } from './token-claims.ts';
import { dataplaneRealm, userRealm, type TokenRealm } from './token-realm.ts';

/** The default validity of zone and dataplane tokens (rest-api 5). */
export const TEN_YEARS_MS = 10 * 365 * 24 * 3_600_000;
/** Tokens are back-dated by this time, for receivers with a late clock (rest-api 5). */
const EARLIER_S = 5;

/** The title of a refusal. */
export const NOT_ISSUED = 'Could not issue a token';

type Signers = Pick<KeySet, 'signer'>;

/** The source of the keys of a realm. */
type IssuerKeys = {
  /** The realm of zone tokens here. */
  readonly zoneRealm: TokenRealm;
  readonly of: (realm: TokenRealm) => Promise<{ readonly keys: Signers }>;
};

/**
 * Each method rejects with MeridianError `not_found` without a signing key here, `internal` if the newest is unreadable, and `invalid` with
 * the field that makes the token too long.
 */
export class TokenIssuer {
  readonly #secrets: IssuerKeys;
  readonly #now: () => Date;

  constructor(secrets: IssuerKeys, now: () => Date) {
    this.#secrets = secrets;
    this.#now = now;
  }

  /** @param validForMs the validity in milliseconds from now */
  async user(user: UserClaims, validForMs: number): Promise<string> {
    const { keys } = await this.#secrets.of(userRealm);
    return await issueUserToken(keys, user, validForMs, this.#now());
  }

  async zone(
    { zone, scope }: Omit<ZoneClaims, 'scope'> & { scope: readonly string[] | null },
    validForMs: number,
  ): Promise<string> {
    const { keys } = await this.#secrets.of(this.#secrets.zoneRealm);
    return await sign(keys, { Zone: zone, Scope: scope }, validForMs, this.#now());
  }

  async dataplane({ name, mesh, tags, type, workload }: DataplaneClaims, validForMs: number): Promise<string> {
    const { keys } = await this.#secrets.of(dataplaneRealm(mesh));
    const claims = { Name: name, Mesh: mesh, Tags: tags, Type: type, Workload: workload };
    return await sign(keys, claims, validForMs, this.#now());
  }
}

/** A user token signed by the newest of `keys`, for callers with the keys and without a cache. */
export async function issueUserToken(
  keys: Signers,
  { name, groups }: UserClaims,
  validForMs: number,
  now: Date,
): Promise<string> {
  return await sign(keys, { Name: name, Groups: groups }, validForMs, now);
}

async function sign(keys: Signers, claims: Claims, validForMs: number, now: Date): Promise<string> {
  const { kid, privateKey } = keys.signer();
  const start = Math.floor(now.getTime() / 1000) - EARLIER_S;
  const end = Math.floor((now.getTime() + validForMs) / 1000);
  const token = await signJwt({ ...claims, jti: randomUUID(), iat: start, nbf: start, exp: end }, kid, privateKey);
  if (token.length > MAX_TOKEN) throw tooLong(claims);
  return token;
}

/** Names the longest claim by its field in the request: `groups` for `Groups`. */
function tooLong(claims: Claims): MeridianError {
  const lengths = Object.entries(claims).map(([claim, value]) => ({ claim, length: JSON.stringify(value).length }));
  const { claim } = lengths.reduce((one, other) => (other.length > one.length ? other : one));
  const reason = `makes the token longer than ${String(MAX_TOKEN)} characters, and such a token is refused everywhere`;
  return new MeridianError('invalid', NOT_ISSUED, { violations: [{ field: claim.toLowerCase(), reason }] });
}
