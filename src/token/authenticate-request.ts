// The user of a REST request: an admin on the same machine, the bearer of a user token, or anonymous (rest-api 5).
import type { UserClaims } from './token-claims.ts';
import type { TokenVerifier } from './token-verifier.ts';
import { isLocalAdmin, headerOf, type RequestFacts } from './request-facts.ts';
import type { UserToken } from './token-guard.ts';

export type User = { readonly name: string; readonly groups: readonly string[] };

export const ADMIN_NAME = 'mesh-system:admin';
const AUTHENTICATED = 'mesh-system:authenticated';

/** The claims of the admin token. */
export const adminClaims: UserClaims = { name: ADMIN_NAME, groups: [ADMIN_NAME] };

/** The user of a call from the machine of the control plane. */
export const adminUser: User = { name: ADMIN_NAME, groups: [ADMIN_NAME, AUTHENTICATED] };

/** The user of a call without a token. */
export const anonymousUser: User = { name: 'mesh-system:anonymous', groups: ['mesh-system:unauthenticated'] };

/** The bearer of a user token. */
export function userOf({ name, groups }: UserClaims): User {
  return { name, groups: [...new Set([...groups, AUTHENTICATED])] };
}

export type AuthenticationConfig = {
  /** The value of `apiServer.authn.localhostIsAdmin`, true by default. It takes precedence over a token. */
  readonly localhostIsAdmin: boolean;
  /** The value of `apiServer.authn.type`: `tokens`, or `none`, which reads no tokens. */
  readonly type: 'tokens' | 'none';
};

export type Authentication =
  /** `token` identifies the user, if a token was sent. A long-lived answer must end with it. */
  | { readonly ok: true; readonly user: User; readonly token?: UserToken }
  /** `reason` is for the answer's reader: 401, title `Invalid authentication data`. */
  | { readonly ok: false; readonly reason: string };

/**
 * Finds the user of a request. An invalid token is refused everywhere except on the public pages. Rejects with MeridianError
 * `unavailable` while the store is unavailable.
 */
export async function authenticateRequest(
  facts: RequestFacts,
  config: AuthenticationConfig,
  verifier: Pick<TokenVerifier, 'user'>,
): Promise<Authentication> {
  if (config.localhostIsAdmin && isLocalAdmin(facts)) return { ok: true, user: adminUser };
  const token = config.type === 'tokens' ? bearerOf(facts) : null;
  if (token === null) return { ok: true, user: anonymousUser };
  const outcome = await verifier.user(token);
  if (outcome.ok) return { ok: true, user: userOf(outcome.claims), token: { text: token, expiresAt: outcome.expiresAt } };
  if (isOpenPage(facts)) return { ok: true, user: anonymousUser };
  return { ok: false, reason: `the user token ${outcome.reason}` };
}

/** The text after `Bearer`; null without such a header. Other schemes are ignored. */
function bearerOf(facts: RequestFacts): string | null {
  const header = headerOf(facts, 'authorization');
  if (header === undefined) return null;
  if (header === null) return '';
  const match = /^Bearer(?:\s+(.*))?$/i.exec(header.trim());
  return match === null ? null : (match[1] ?? '');
}

/** `GET /` and `/gui*` answer even with an invalid token. */
function isOpenPage({ method, url }: RequestFacts): boolean {
  const path = url.split('?', 1)[0] ?? '';
  return (method === 'GET' && path === '/') || path === '/gui' || path.startsWith('/gui/');
}
