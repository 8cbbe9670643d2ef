// JSON Web Tokens in the form of this product: RS256 only, a kid in the header, an expiry in the claims (rest-api 5).
// Invariant: for any text, `verifyJwt` returns claims, or a reason that quotes no part of a signature.
import type { KeyObject } from 'node:crypto';
import { SignJWT, compactVerify, decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose';

/** The only algorithm. A token with another one is refused before any key is read. */
const ALGORITHM = 'RS256';
/** The allowed difference of two clocks, besides that of `nbf` (rest-api 5). */
export const LEEWAY_S = 5;
/** The length limit of tokens, issued and accepted: shorter than the limit of a header. */
export const MAX_TOKEN = 8_192;
/** The maximum of a Date, in seconds. */
const LAST_SECOND = 8.64e12;

export type Claims = Readonly<Record<string, unknown>>;

/**
 * The reason why a token is not valid, as a predicate after «the token …». `isForged` means that its signature is not of the key,
 * now and always.
 */
export type Refused = { readonly ok: false; readonly reason: string; readonly isForged?: true };

type SignedClaims = {
  readonly ok: true;
  readonly claims: Claims;
  /** Claim `jti`, used in revocation lists. */
  readonly id: string;
  readonly expiresAt: Date;
};

/** The compact form of a token with these claims. */
export async function signJwt(claims: Claims, kid: string, privateKey: KeyObject): Promise<string> {
  return await new SignJWT({ ...claims }).setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' }).sign(privateKey);
}

/** The kid in the header of an unverified token. */
export function kidOfJwt(token: string): { readonly ok: true; readonly kid: string } | Refused {
  if (token.length > MAX_TOKEN) return refused(`is longer than ${String(MAX_TOKEN)} characters`);
  if (token.split('.').length !== 3) return refused('is not a JSON Web Token: it must have three parts joined by dots');
  let header: { alg?: unknown; kid?: unknown };
  try {
    header = decodeProtectedHeader(token);
  } catch {
    return refused('has a header that cannot be read');
  }
  if (header.alg !== ALGORITHM) return refused(`is signed with ${quote(header.alg)}; only ${ALGORITHM} counts`);
  if (typeof header.kid !== 'string' || header.kid === '')
    return refused('does not say which key signed it: its header has no kid');
  return { ok: true, kid: header.kid };
}

/** The expiry in an unverified token, for its bearer; null without one. It never throws. */
export function statedEndOfJwt(token: string): Date | null {
  try {
    const { exp } = decodeJwt(token);
    return typeof exp === 'number' ? dateOf(exp) : null;
  } catch {
    return null;
  }
}

/** The claims of an unverified token, for its bearer; null if there are none. It never throws. */
export function claimsOfJwt(token: string): Claims | null {
  try {
    return decodeJwt(token);
  } catch {
    return null;
  }
}

/** Checks the signature, the times and the common claims. It never rejects. */
export async function verifyJwt(token: string, kid: string, publicKey: KeyObject, now: Date): Promise<SignedClaims | Refused> {
  try {
    const { payload } = await jwtVerify(token, publicKey, {
      algorithms: [ALGORITHM],
      clockTolerance: LEEWAY_S,
      currentDate: now,
      requiredClaims: ['exp', 'jti'],
    });
    const { jti, exp } = payload;
    if (typeof jti !== 'string' || jti === '' || exp === undefined) return refused('has no jti, so that it could not be revoked');
    return { ok: true, claims: payload, id: jti, expiresAt: dateOf(exp) };
  } catch (error) {
    const isForged = error instanceof errors.JWSSignatureVerificationFailed;
    return { ...refused(reasonOf(error, kid)), ...(isForged && { isForged }) };
  }
}

/** Whether the signature is of this key, also of a token that has ended. It never rejects. */
export async function isSignedBy(token: string, publicKey: KeyObject): Promise<boolean> {
  return await compactVerify(token, publicKey, { algorithms: [ALGORITHM] }).then(
    () => true,
    () => false,
  );
}

/** A kid in a message: a serial number unchanged, any other text quoted and cut. */
export function showKid(kid: string): string {
  return /^\d{1,20}$/.test(kid) ? kid : quote(kid);
}

function reasonOf(error: unknown, kid: string): string {
  if (error instanceof errors.JWTExpired) return `expired on ${dateOf(error.payload.exp).toISOString()}`;
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, reason, payload } = error;
    if (claim === 'nbf' && reason === 'check_failed')
      return `is not valid before ${dateOf(payload.nbf).toISOString()}; do the clocks of both machines agree?`;
    return reason === 'missing' ? `has no claim ${claim}` : `has a claim ${claim} that cannot be read`;
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) return `does not have the signature of key ${showKid(kid)}`;
  return 'is not a readable JSON Web Token';
}

/** The date of seconds since 1970; a token may contain any number. */
function dateOf(seconds: unknown): Date {
  const number = typeof seconds === 'number' ? seconds : 0;
  return new Date(Math.max(-LAST_SECOND, Math.min(LAST_SECOND, number)) * 1000);
}

function quote(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40).toWellFormed()) : 'no algorithm';
}

function refused(reason: string): Refused {
  return { ok: false, reason };
}
