// Admits zones to KDS, or refuses them with the reason (D31; Kuma checks nothing here, kds-wire 8). Invariant: a token for `east`
// admits only `east`, for any `client-id`.
import { howToJoin, howToLetIn, isZoneName } from './zone-token-advice.ts';
import type { TokenVerifier } from './token-verifier.ts';
import { ZONE_SCOPES } from './token-request.ts';
import { TokenWatch, type TokenWatchOptions } from './token-watch.ts';

/** The values of `multizone.global.kds.auth`. */
export type ZoneAuthConfig = {
  /** With `none`, tokens are not checked. */
  readonly type: 'zoneToken' | 'none';
  /** The zones that need no token. If one of them sends a token, it must be valid. */
  readonly allowWithoutToken: readonly string[];
};

/** The token of an admitted zone; `text` is a secret. */
export type ZoneToken = { readonly zone: string; readonly text: string; readonly expiresAt: Date };

type ZoneAuthentication =
  /** The token is null if none was required. */
  { readonly ok: true; readonly token: ZoneToken | null } | { readonly ok: false; readonly reason: string };

/** The scope that a token with scopes must have. A token without scopes allows everything. */
const [SCOPE] = ZONE_SCOPES;

export class ZoneAuthenticator {
  readonly #verifier: Pick<TokenVerifier, 'zone'>;
  readonly #config: ZoneAuthConfig;

  constructor(verifier: Pick<TokenVerifier, 'zone'>, config: ZoneAuthConfig) {
    this.#verifier = verifier;
    this.#config = config;
  }

  /**
   * Decides on one call. Rejects with MeridianError `unavailable` while the store cannot be read.
   * @param authorization all values of the metadata `authorization`; `Bearer <token>`
   * @param zone the zone of metadata `client-id` (kds-wire 2.1)
   */
  async authenticate(authorization: readonly string[], zone: string): Promise<ZoneAuthentication> {
    const { type, allowWithoutToken } = this.#config;
    if (type === 'none') return { ok: true, token: null };
    if (!isZoneName(zone)) return refuse(`client-id ${JSON.stringify(zone.slice(0, 63).toWellFormed())} is no name of a zone`);
    if (authorization.length === 0) {
      if (allowWithoutToken.includes(zone)) return { ok: true, token: null };
      return refuse(`zone "${zone}" sent no token. ${howToJoin(zone)}. ${howToLetIn(zone)}`);
    }
    const text = authorization.length === 1 ? bearerOf(authorization[0] ?? '') : null;
    if (text === null)
      return refuse(`zone "${zone}" must send exactly one authorization, of the form "Bearer <token>". ${howToJoin(zone)}`);
    const outcome = await this.#verifier.zone(text);
    if (!outcome.ok) return refuse(tokenRefusal(zone, outcome.reason));
    const { claims, expiresAt } = outcome;
    if (claims.scope.length > 0 && !claims.scope.includes(SCOPE))
      return refuse(tokenRefusal(zone, `has the scope ${claims.scope.join(', ')}, and a control plane needs ${SCOPE}`));
    if (claims.zone === zone) return { ok: true, token: { zone, text, expiresAt } };
    return refuse(tokenRefusal(zone, `is for zone ${JSON.stringify(claims.zone.slice(0, 63).toWellFormed())}`));
  }
}

/** The reason why a zone's token is invalid, and the command to get another. */
export function tokenRefusal(zone: string, reason: string): string {
  return `the token of zone "${zone}" ${reason}. ${howToJoin(zone)}`;
}

/** Ends the streams of zones whose token no longer counts. Run it. */
export function watchZoneTokens({
  verifier,
  ...options
}: Pick<TokenWatchOptions<ZoneToken>, 'secrets' | 'clock'> & {
  readonly verifier: Pick<TokenVerifier, 'zone'>;
}): TokenWatch<ZoneToken> {
  return new TokenWatch<ZoneToken>({
    ...options,
    kind: 'zone',
    check: ({ text }) => verifier.zone(text),
    explain: ({ zone }, reason) => tokenRefusal(zone, reason),
  });
}

/** The expiry of the tokens of zones; the earliest of each zone. */
export function earliestEnds(tokens: Iterable<ZoneToken>): ReadonlyMap<string, Date> {
  const found = new Map<string, Date>();
  for (const { zone, expiresAt } of tokens) {
    const known = found.get(zone);
    if (known === undefined || expiresAt < known) found.set(zone, expiresAt);
  }
  return found;
}

function bearerOf(value: string): string | null {
  return /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(value.trim())?.[1] ?? null;
}

function refuse(reason: string): ZoneAuthentication {
  return { ok: false, reason };
}
