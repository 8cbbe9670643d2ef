// The secrets of each kind of token: the names of its signing keys and of its revocation list (rest-api 5, kds-wire 8). A key signs
// tokens of one realm only.
import { dataplaneTokenKeyPrefix, ZONE_TOKEN_KEY_PREFIX } from '../defaults/default-resources.ts';
import { dataplaneTokenRevocations, ZONE_TOKEN_REVOCATIONS } from '../resource/revoked-ids.ts';

export type TokenKind = 'user' | 'zone' | 'dataplane';

export type TokenRealm = {
  readonly kind: TokenKind;
  /** It is `''`, except for dataplane tokens: each mesh signs its own. */
  readonly mesh: string;
  readonly secretType: 'GlobalSecret' | 'Secret';
  /** The name of key 0; the others follow as `<keyName>-<kid>`. */
  readonly keyName: string;
  /** With `public`, the rows are public keys: tokens can be checked but not issued. */
  readonly holds: 'private' | 'public';
  /** The name of the row with the comma-separated revoked `jti`s. */
  readonly revocations: string;
};

/** User tokens: every control plane signs its own. */
export const userRealm: TokenRealm = {
  kind: 'user',
  mesh: '',
  secretType: 'GlobalSecret',
  keyName: 'user-token-signing-key',
  holds: 'private',
  revocations: 'user-token-revocations',
};

/** Zone tokens on a control plane without a global, which signs them. */
export const zoneRealm: TokenRealm = {
  kind: 'zone',
  mesh: '',
  secretType: 'GlobalSecret',
  keyName: withoutDash(ZONE_TOKEN_KEY_PREFIX),
  holds: 'private',
  revocations: ZONE_TOKEN_REVOCATIONS,
};

/** Zone tokens in a zone with a global: the public halves are synced (kds-wire 5.3). */
export const federatedZoneRealm: TokenRealm = { ...zoneRealm, keyName: 'zone-token-signing-public-key', holds: 'public' };

/** Dataplane tokens of a mesh. Their keys are synced completely, so that a token of global is valid in the zones (kds-wire 8). */
export function dataplaneRealm(mesh: string): TokenRealm {
  return {
    kind: 'dataplane',
    mesh,
    secretType: 'Secret',
    keyName: withoutDash(dataplaneTokenKeyPrefix(mesh)),
    holds: 'private',
    revocations: dataplaneTokenRevocations(mesh),
  };
}

/** The serial of the key in a row with this name; null for other rows. Key 0 has the name without a suffix. */
export function kidOf({ keyName }: TokenRealm, name: string): string | null {
  if (name === keyName) return '0';
  const kid = name.startsWith(`${keyName}-`) ? name.slice(keyName.length + 1) : '';
  return kid === '' || kid === '0' ? null : kid;
}

/** `GlobalSecret user-token-signing-key-1`, for messages to people. */
export function describeSigningKey({ secretType, keyName }: TokenRealm, kid: string): string {
  return `${secretType} ${kid === '0' ? keyName : `${keyName}-${kid}`}`;
}

function withoutDash(prefix: string): string {
  return prefix.replace(/-$/, '');
}
