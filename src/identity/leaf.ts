// The certificate of a proxy: what it holds, and when it is renewed (xds 6).

/** A certificate authority as texts, in PEM. */
export type AuthorityPem = { readonly certPem: string; readonly keyPem: string };

/** The certificate of one proxy and its key, in PEM. */
export type Leaf = {
  readonly certPem: string;
  readonly keyPem: string;
  readonly spiffeId: string;
  /** Id of the authority that signed it. */
  readonly authority: string;
  readonly issuedAt: Date;
  readonly notAfter: Date;
};

/** A certificate is valid from this long before it is issued, for clocks that run behind. */
export const CLOCK_SKEW_MS = 60_000;

/** Whether a certificate is valid at a time: the date may have been set back since it was issued. */
export function isValidAt({ issuedAt, notAfter }: Pick<Leaf, 'issuedAt' | 'notAfter'>, now: Date): boolean {
  return notAfter > now && issuedAt.getTime() - CLOCK_SKEW_MS <= now.getTime();
}

/** A certificate is renewed at a random moment between these shares of its life, so that proxies do not renew at once. */
const FIRST_RENEWAL = 2 / 3;
const LAST_RENEWAL = 4 / 5;

/** Share of a life in which certificates of an earlier authority are renewed, and its limit in milliseconds. */
const RESIGN_SHARE = 1 / 5;
const MAX_RESIGN_MS = 600_000;

/**
 * The time at which a certificate is renewed because another authority signs now, in milliseconds since 1970.
 * @param now the same
 * @param random from 0 to 1
 */
export function resigningOf({ issuedAt, notAfter }: Pick<Leaf, 'issuedAt' | 'notAfter'>, now: number, random: number): number {
  const life = notAfter.getTime() - issuedAt.getTime();
  const spread = Math.min(life * RESIGN_SHARE, MAX_RESIGN_MS);
  return Math.min(now + spread * random, renewalOf({ issuedAt, notAfter }, random));
}

/**
 * The time at which a certificate is renewed, in milliseconds since 1970.
 * @param random from 0 to 1
 */
export function renewalOf({ issuedAt, notAfter }: Pick<Leaf, 'issuedAt' | 'notAfter'>, random: number): number {
  const life = notAfter.getTime() - issuedAt.getTime();
  return issuedAt.getTime() + life * (FIRST_RENEWAL + (LAST_RENEWAL - FIRST_RENEWAL) * random);
}
