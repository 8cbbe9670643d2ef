// Who may do what over REST, as data: `access.static` of the configuration (rest-api 5). What no rule guards everybody may do.
import { MeridianError } from '../base/errors.ts';
import { ADMIN_NAME, type User } from './user.ts';

/** A user may if its name or one of its groups is listed. */
export type AccessRule = { readonly users: readonly string[]; readonly groups: readonly string[] };

export type Action =
  | 'adminResources'
  | 'generateUserToken'
  | 'generateDpToken'
  | 'generateZoneToken'
  | 'viewConfigDump'
  | 'viewStats'
  | 'viewClusters'
  | 'controlPlaneMetadata';

export type AccessRules = Readonly<Record<Action, AccessRule>>;

const ADMINS: AccessRule = { users: [ADMIN_NAME], groups: [ADMIN_NAME] };
const ALL: AccessRule = { users: [], groups: ['mesh-system:unauthenticated', 'mesh-system:authenticated'] };

/** Defaults of `access.static.<action>.{users,groups}`. */
export const defaultAccess: AccessRules = {
  adminResources: ADMINS,
  generateUserToken: ADMINS,
  generateDpToken: ADMINS,
  generateZoneToken: ADMINS,
  viewConfigDump: ALL,
  viewStats: ALL,
  viewClusters: ALL,
  controlPlaneMetadata: ALL,
};

const DOING: Record<Action, string> = {
  adminResources: 'read or write secrets',
  generateUserToken: 'generate user tokens',
  generateDpToken: 'generate dataplane tokens',
  generateZoneToken: 'generate zone tokens',
  viewConfigDump: "read proxies' configuration",
  viewStats: "read proxies' statistics",
  viewClusters: "read proxies' clusters",
  controlPlaneMetadata: 'read the configuration of the control plane',
};

/** Whether the rules let this user do this. */
export function mayAccess({ name, groups }: User, action: Action, rules: AccessRules = defaultAccess): boolean {
  const rule = rules[action];
  return rule.users.includes(name) || groups.some((group) => rule.groups.includes(group));
}

/** @throws MeridianError `forbidden` with what to do, if the rules do not let this user do this */
export function requireAccess(user: User, action: Action, rules: AccessRules = defaultAccess): void {
  if (mayAccess(user, action, rules)) return;
  throw new MeridianError(
    'forbidden',
    `user ${JSON.stringify(user.name)} may not ${DOING[action]}; send a token of a user who may, call from the machine of the ` +
      `control plane, or list the user in access.static.${action}`,
  );
}
