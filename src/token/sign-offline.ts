// Signs tokens without a control plane, with the private key, by the same rules and with the same claims as the POSTs of a control
// plane (rest-api 5, 6). The control plane needs the key with that kid: as a secret, or its public half in the configuration.
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { MeridianError } from '../base/errors.ts';
import type { JsonObject } from '../resource/types.ts';
import { isStrong } from './key-set.ts';
import { NOT_ISSUED, TokenIssuer } from './token-issuer.ts';
import { zoneRealm, type TokenKind } from './token-realm.ts';
import { tokenRoutes } from './token-routes.ts';

type OfflineKey = {
  /** The kid for the header: the number of the secret, or the kid in `validator.publicKeys`. */
  readonly kid: string;
  readonly privateKey: KeyObject;
};

const ENABLED: Record<TokenKind, boolean> = { user: true, zone: true, dataplane: true };

/**
 * Signs a token.
 * @param request the body of `POST /tokens/<kind>`
 * @throws MeridianError `invalid` with the invalid fields
 */
export async function signOffline(kind: TokenKind, request: JsonObject, key: OfflineKey, now: () => Date): Promise<string> {
  const keys = { signer: () => key };
  const issuer = new TokenIssuer({ zoneRealm, of: () => Promise.resolve({ keys }) }, now);
  const route = tokenRoutes(issuer, ENABLED).find(({ path }) => path === `/tokens/${kind}`);
  const answer = await route?.answer(JSON.stringify(request));
  if (answer !== undefined && 'status' in answer && answer.status === 200) return answer.text;
  const { title, violations } = answer === undefined || 'status' in answer ? { title: NOT_ISSUED, violations: [] } : answer;
  throw new MeridianError('invalid', title, { violations });
}

/**
 * Parses a key. Returns null if it is no RSA private key of at least 2048 bits.
 * @param pem PKCS#1 or PKCS#8, without a password
 */
export function parseSigningKey(pem: string): KeyObject | null {
  try {
    const key = createPrivateKey(pem);
    return isStrong(key) ? key : null;
  } catch {
    // The error of the parser may quote the key.
    return null;
  }
}
