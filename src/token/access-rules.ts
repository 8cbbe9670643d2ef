// Who may do what over REST, as data: `access.static` of the configuration (rest-api 5). What no rule guards everybody may do.
import { MeridianError } from '../base/errors.ts';
import { ADMIN_NAME, type User } from './authenticate-request.ts';

/** A user may if its name or one of its groups is listed. */
export type AccessRule = { readonly users: readonly string[]; readonly groups: readonly string[] };

export type Action =
  | 'adminResources'
  | 'acceptPeers'
  | 'generateUserToken'
  | 'generateDpToken'
  | 'generateZoneToken'
  | 'viewConfigDump'
  | 'viewStats'
  | 'viewClusters'
  | 'controlPlaneMetadata';

/** Who may write resources of these types in these meshes; `*` is every type or mesh. */
export type WriteRule = AccessRule & { readonly types: readonly string[]; readonly meshes: readonly string[] };

export type AccessRules = Readonly<Record<Action, AccessRule>> & { readonly resources: readonly WriteRule[] };

const ADMINS: AccessRule = { users: [ADMIN_NAME], groups: [ADMIN_NAME] };
const ALL: AccessRule = { users: [], groups: ['mesh-system:unauthenticated', 'mesh-system:authenticated'] };

/** Defaults of `access.static.<action>.{users,groups}`. */
export const defaultAccess: AccessRules = {
  adminResources: ADMINS,
  resources: [{ ...ALL, types: ['*'], meshes: ['*'] }],
  acceptPeers: ADMINS,
  generateUserToken: ADMINS,
  generateDpToken: ADMINS,
  generateZoneToken: ADMINS,
  viewConfigDump: ALL,
  viewStats: ALL,
  viewClusters: ALL,
  controlPlaneMetadata: ALL,
};

const ADVICE = 'send a token of a user who may, call from the machine of the control plane, or list the user in';

const DOING: Record<Action, string> = {
  adminResources: 'read or write secrets',
  acceptPeers: 'accept another store of a zone or another global',
  generateUserToken: 'generate user tokens',
  generateDpToken: 'generate dataplane tokens',
  generateZoneToken: 'generate zone tokens',
  viewConfigDump: "read proxies' configuration",
  viewStats: "read proxies' statistics",
  viewClusters: "read proxies' clusters",
  controlPlaneMetadata: 'read the configuration of the control plane',
};

/** Whether the rules let this user do this. */
export function mayAccess(user: User, action: Action, rules: AccessRules = defaultAccess): boolean {
  return isListed(user, rules[action]);
}

/** The written resource: its type and its mesh. The mesh of a Mesh is its own name; it is `''` for resources outside of meshes. */
export type Written = { readonly type: string; readonly mesh: string };

/** Whether one of the rules lets this user write this. */
export function mayWrite(user: User, { type, mesh }: Written, rules: readonly WriteRule[]): boolean {
  const covers = (listed: readonly string[], value: string): boolean => listed.includes('*') || listed.includes(value);
  return rules.some((rule) => isListed(user, rule) && covers(rule.types, type) && covers(rule.meshes, mesh));
}

/**
 * Who may write secrets may write everything else.
 * @throws MeridianError `forbidden` with what to do, if the rules do not let this user write this
 */
export function requireWrite(user: User, written: Written, rules: AccessRules = defaultAccess): void {
  if (mayWrite(user, written, rules.resources) || mayAccess(user, 'adminResources', rules)) return;
  const where = written.mesh === '' ? '' : ` in mesh ${JSON.stringify(written.mesh)}`;
  throw new MeridianError(
    'forbidden',
    `user ${JSON.stringify(user.name)} may not write ${written.type}${where}; ${ADVICE} access.static.resources`,
  );
}

function isListed({ name, groups }: User, rule: AccessRule): boolean {
  return rule.users.includes(name) || groups.some((group) => rule.groups.includes(group));
}

/** @throws MeridianError `forbidden` with what to do, if the rules do not let this user do this */
export function requireAccess(user: User, action: Action, rules: AccessRules = defaultAccess): void {
  if (mayAccess(user, action, rules)) return;
  throw new MeridianError(
    'forbidden',
    `user ${JSON.stringify(user.name)} may not ${DOING[action]}; ${ADVICE} access.static.${action}`,
  );
}
