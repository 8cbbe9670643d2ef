// Who a request comes from, and the users that need no token (rest-api 5).
import type { UserClaims } from './token-claims.ts';

export type User = { readonly name: string; readonly groups: readonly string[] };

export const ADMIN_NAME = 'mesh-system:admin';
const AUTHENTICATED = 'mesh-system:authenticated';

/** What the admin token says. */
export const adminClaims: UserClaims = { name: ADMIN_NAME, groups: [ADMIN_NAME] };

/** Who calls from the machine of the control plane. */
export const adminUser: User = { name: ADMIN_NAME, groups: [ADMIN_NAME, AUTHENTICATED] };

/** Who shows nothing. */
export const anonymousUser: User = { name: 'mesh-system:anonymous', groups: ['mesh-system:unauthenticated'] };

/** The bearer of a user token. */
export function userOf({ name, groups }: UserClaims): User {
  return { name, groups: [...new Set([...groups, AUTHENTICATED])] };
}
