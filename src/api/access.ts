// Identifies callers and checks their rights (rest-api 5). Invariants: every caller is identified before any other code reads the
// request. An unidentified caller is anonymous. Only the rule decides about access to what it guards.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import { defaultAccess, requireAccess, requireWrite, type AccessRules, type Action } from '../token/access-rules.ts';
import {
  authenticateRequest,
  anonymousUser,
  type Authentication,
  type AuthenticationConfig,
  type User,
} from '../token/authenticate-request.ts';
import type { RequestFacts } from '../token/request-facts.ts';
import { TokenGuard, type UserToken } from '../token/token-guard.ts';
import type { TokenSecrets } from '../token/token-secrets.ts';
import type { TokenVerifier } from '../token/token-verifier.ts';
import { ApiError, unauthenticated } from './error-body.ts';

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

/** Without tokens: the machine of the control plane is admin, everybody else anonymous. */
export const localAccess: Access = tokenAccess(
  { type: 'none', localhostIsAdmin: true },
  { user: async () => ({ ok: false, reason: 'is not looked at here' }) },
  { follow: () => () => undefined },
  defaultAccess,
);

/** Whom a request comes from. */
type Caller = { readonly user: User; readonly token?: UserToken };

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until the caller is identified, and for requests without a route. Read it through `Callers`. */
    caller: Caller | null;
  }
}

/** Knows the user of each request in flight. */
export class Callers {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  follow(app: FastifyInstance): void {
    app.decorateRequest('caller', null);
    app.addHook('onRequest', async (request) => {
      if (request.is404) return;
      const outcome = await this.#access.identify(factsOf(request));
      if (!outcome.ok) throw unauthenticated(outcome.reason);
      request.caller = outcome;
    });
  }

  userOf(request: FastifyRequest): User {
    return request.caller?.user ?? anonymousUser;
  }

  /** For a long-lived answer: the guard of the caller's token until the signal aborts; null without a token. */
  guard(request: FastifyRequest, clock: Clock, signal: AbortSignal): TokenGuard | null {
    const token = request.caller?.token;
    return token === undefined ? null : this.#access.guard(token, clock, signal);
  }

  /** @throws ApiError 403 for types that are for admins alone */
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
      this.#ask(() => requireWrite(this.userOf(request), { type: info.name, mesh }, this.#access.rules));
    }
  }

  /** @throws ApiError 403 unless the rule of the action lets the caller */
  require(action: Action, request: FastifyRequest): void {
    this.#ask(() => requireAccess(this.userOf(request), action, this.#access.rules));
  }

  #ask(rule: () => void): void {
    try {
      rule();
    } catch (error) {
      if (!(error instanceof MeridianError)) throw error;
      throw new ApiError('forbidden', 'Access Denied', error.message);
    }
  }
}

function factsOf({ method, url, headers, socket }: FastifyRequest): RequestFacts {
  return { method, url, headers, remoteAddress: socket.remoteAddress ?? '', encrypted: 'encrypted' in socket };
}
