// Identifies callers and checks their rights by rules, which are data: `access.static` of the configuration (rest-api 5). An action
// without a rule is allowed to everybody. Invariants: every caller is identified before any other code reads the request. An
// unidentified caller is anonymous. Only its rule decides about an action.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../base/clock.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import {
  ADMIN_NAME,
  anonymousUser,
  authenticateRequest,
  type Authentication,
  type AuthenticationConfig,
  type User,
} from '../token/authenticate-request.ts';
import type { RequestFacts } from '../token/request-facts.ts';
import { TokenGuard, type UserToken } from '../token/token-guard.ts';
import type { TokenSecrets } from '../token/token-secrets.ts';
import type { TokenVerifier } from '../token/token-verifier.ts';
import { ApiError } from './error-body.ts';
import { RefusedTokens } from './refused-tokens.ts';

/** A rule allows a user whose name or group it lists. */
type AccessRule = { readonly users: readonly string[]; readonly groups: readonly string[] };

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

/** Allows writes of these types in these meshes; `*` is every type or mesh. `Secret` among the types allows to name Secrets (`mayUseSecrets`). */
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

/** @param setting the setting of the rules that refuse it */
function adviceFor({ name }: User, setting: string): string {
  const rule = `access.static.${setting}`;
  return name === anonymousUser.name
    ? `send a token of an allowed user, call from the machine of the control plane, or list the user in ${rule}`
    : `list this user or a group of it in ${rule}, or call as a user who is listed`;
}

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

/** Whether the rules allow the action to this user. */
export function mayAccess(user: User, action: Action, rules: AccessRules = defaultAccess): boolean {
  return isListed(user, rules[action]);
}

/** The written resource: its type and its mesh. The mesh of a Mesh is its own name; it is `''` for resources outside of meshes. */
export type Written = { readonly type: string; readonly mesh: string };

/** Whether one of the rules allows the write to this user. */
export function mayWrite(user: User, { type, mesh }: Written, rules: readonly WriteRule[]): boolean {
  const covers = (listed: readonly string[], value: string): boolean => listed.includes('*') || listed.includes(value);
  return rules.some((rule) => isListed(user, rule) && covers(rule.types, type) && covers(rule.meshes, mesh));
}

/**
 * Checks the caller of a body that names what is written: a user without any right is refused before the body is read.
 * @throws ApiError 403 if no rule lists the user
 */
function requireSomeWrite(user: User, rules: AccessRules): void {
  if (rules.resources.some((rule) => isListed(user, rule)) || mayAccess(user, 'adminResources', rules)) return;
  throw new ApiError(
    'forbidden',
    'Access Denied',
    `user ${JSON.stringify(user.name)} may not write resources; ${adviceFor(user, 'resources')}`,
  );
}

/**
 * Whether documents of this user may name Secrets of a mesh: a rule says so with the type `Secret`. `*` does not, so that no user gets the
 * right by a rule that is older than it. It is not the right to read or write them.
 */
function mayUseSecrets(user: User, mesh: string, rules: AccessRules): boolean {
  const covers = ({ types, meshes }: WriteRule): boolean =>
    types.includes('Secret') && (meshes.includes('*') || meshes.includes(mesh));
  return mayAccess(user, 'adminResources', rules) || rules.resources.some((rule) => isListed(user, rule) && covers(rule));
}

/**
 * A user who may write secrets may write everything else.
 * @throws ApiError 403 with a remedy, if the rules do not allow the write
 */
function requireWrite(user: User, written: Written, rules: AccessRules): void {
  if (mayWrite(user, written, rules.resources) || mayAccess(user, 'adminResources', rules)) return;
  const where = written.mesh === '' ? '' : ` in mesh ${JSON.stringify(written.mesh)}`;
  throw new ApiError(
    'forbidden',
    'Access Denied',
    `user ${JSON.stringify(user.name)} may not write ${written.type}${where}; ${adviceFor(user, 'resources')}`,
  );
}

function isListed({ name, groups }: User, rule: AccessRule): boolean {
  return rule.users.includes(name) || groups.some((group) => rule.groups.includes(group));
}

/** @throws ApiError 403 with a remedy, if the rules do not allow the action */
export function requireAccess(user: User, action: Action, rules: AccessRules = defaultAccess): void {
  if (mayAccess(user, action, rules)) return;
  throw new ApiError(
    'forbidden',
    'Access Denied',
    `user ${JSON.stringify(user.name)} may not ${DOING[action]}; ${adviceFor(user, action)}`,
  );
}

export type Access = {
  readonly identify: (facts: RequestFacts) => Promise<Authentication>;
  readonly rules: AccessRules;
  /** Follows a token of a caller until the signal aborts. */
  readonly guard: (token: UserToken, clock: Clock, signal: AbortSignal) => TokenGuard;
};

/**
 * @param secrets report changes, so that a watch ends with the token that opened it
 * @param rules `access.static` of the configuration
 */
export function tokenAccess(
  config: AuthenticationConfig,
  verifier: Pick<TokenVerifier, 'user'>,
  secrets: Pick<TokenSecrets, 'follow'>,
  rules: AccessRules,
): Access {
  return {
    identify: (facts) => authenticateRequest(facts, config, verifier),
    rules,
    guard: (token, clock, signal) => new TokenGuard(token, { verifier, secrets, clock }, signal),
  };
}

/** Access without tokens: local callers are admin, all others anonymous. */
export const localAccess: Access = tokenAccess(
  { type: 'none', localhostIsAdmin: true },
  { user: async () => ({ ok: false, reason: 'is not looked at here' }) },
  { follow: () => () => undefined },
  defaultAccess,
);

/** The caller of a request. */
type Caller = { readonly user: User; readonly token?: UserToken };

declare module 'fastify' {
  interface FastifyRequest {
    /** It is null until the caller is identified, and for requests without a route. Read it through `Callers`. */
    caller: Caller | null;
  }
}

/** The callers of the requests in flight. */
export class Callers {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  follow(app: FastifyInstance, clock: Clock): void {
    const refusals = new RefusedTokens(clock);
    app.decorateRequest('caller', null);
    app.addHook('onRequest', async (request, reply) => {
      if (request.is404) return;
      const outcome = await this.#access.identify(factsOf(request));
      if (outcome.ok) request.caller = outcome;
      else await refusals.refuse(outcome.reason, request, reply);
    });
  }

  userOf(request: FastifyRequest): User {
    return request.caller?.user ?? anonymousUser;
  }

  /** The guard of the token of a long-lived answer's caller, until the signal aborts; null without a token. */
  guard(request: FastifyRequest, clock: Clock, signal: AbortSignal): TokenGuard | null {
    const token = request.caller?.token;
    return token === undefined ? null : this.#access.guard(token, clock, signal);
  }

  /** @throws ApiError 403 for types that only admins may read */
  requireMay(info: TypeInfo, request: FastifyRequest): void {
    if (info.adminOnly) this.require('adminResources', request);
  }

  /**
   * @param at mesh and name of the written resource
   * @throws ApiError 403 for types that only admins may write, and unless a rule lets the caller write this resource
   */
  requireMayWrite(info: TypeInfo, at: { readonly mesh: string; readonly name: string }, request: FastifyRequest): void {
    if (info.adminOnly) this.require('adminResources', request);
    else {
      const mesh = info.name === 'Mesh' ? at.name : at.mesh;
      requireWrite(this.userOf(request), { type: info.name, mesh }, this.#access.rules);
    }
  }

  /** @throws ApiError 403 that names the field, unless documents of the caller may name Secrets of the mesh */
  requireMayUse(mesh: string, field: string, request: FastifyRequest): void {
    const user = this.userOf(request);
    if (mayUseSecrets(user, mesh, this.#access.rules)) return;
    const who = `user ${JSON.stringify(user.name)} may not name Secrets of mesh ${JSON.stringify(mesh)}`;
    const reason = `${who}; ${adviceFor(user, 'adminResources')}, or in a rule of access.static.resources with the type Secret`;
    throw new ApiError('forbidden', 'Access Denied', `${field}: ${reason}`, [{ field, reason }]);
  }

  /** @throws ApiError 403 unless a rule lets the caller write some resource */
  requireMayWriteSome(request: FastifyRequest): void {
    requireSomeWrite(this.userOf(request), this.#access.rules);
  }

  /** @throws ApiError 403 unless the rule of the action lets the caller */
  require(action: Action, request: FastifyRequest): void {
    requireAccess(this.userOf(request), action, this.#access.rules);
  }
}

/** Whether a check of a type passes, remembered for each type. @param requireMay throws if it does not pass */
export function permitted(requireMay: (type: string) => void): (type: string) => boolean {
  const known = new Map<string, boolean>();
  return (type) => {
    const answer = known.get(type) ?? isAllowed(() => requireMay(type));
    known.set(type, answer);
    return answer;
  };
}

/** Whether a check passes. @param check throws if it does not */
export function isAllowed(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}

function factsOf({ method, url, headers, socket }: FastifyRequest): RequestFacts {
  return { method, url, headers, remoteAddress: socket.remoteAddress ?? '', encrypted: 'encrypted' in socket };
}
