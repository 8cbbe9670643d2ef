// Who calls, and what they may do (rest-api 5). Invariants: every caller is identified before anything else looks at the request;
// one that was not counts as anonymous; what a rule guards is asked of the rule and of nothing else.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MeridianError } from '../base/errors.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import { defaultAccess, requireAccess, type AccessRules, type Action } from '../token/access-rules.ts';
import { authenticateRequest, type Authentication, type AuthenticationConfig } from '../token/authenticate-request.ts';
import type { RequestFacts } from '../token/request-facts.ts';
import type { TokenVerifier } from '../token/token-verifier.ts';
import { anonymousUser, type User } from '../token/user.ts';
import { ApiError, unauthenticated } from './error-body.ts';

export type Access = {
  readonly identify: (facts: RequestFacts) => Promise<Authentication>;
  readonly rules: AccessRules;
};

/** @param rules `access.static` of the configuration */
export function tokenAccess(config: AuthenticationConfig, verifier: Pick<TokenVerifier, 'user'>, rules: AccessRules): Access {
  return { identify: (facts) => authenticateRequest(facts, config, verifier), rules };
}

/** Without tokens: the machine of the control plane is admin, everybody else anonymous. */
export const localAccess: Access = tokenAccess(
  { type: 'none', localhostIsAdmin: true },
  { user: async () => ({ ok: false, reason: 'is not looked at here' }) },
  defaultAccess,
);

/** Knows the user of each request in flight. */
export class Callers {
  readonly #access: Access;
  readonly #users = new WeakMap<FastifyRequest, User>();

  constructor(access: Access) {
    this.#access = access;
  }

  follow(app: FastifyInstance): void {
    app.addHook('onRequest', async (request) => {
      if (request.is404) return;
      const outcome = await this.#access.identify(factsOf(request));
      if (!outcome.ok) throw unauthenticated(outcome.reason);
      this.#users.set(request, outcome.user);
    });
  }

  userOf(request: FastifyRequest): User {
    return this.#users.get(request) ?? anonymousUser;
  }

  /** @throws ApiError 403 for types that are for admins alone */
  requireMay(info: TypeInfo, request: FastifyRequest): void {
    if (info.adminOnly) this.require('adminResources', request);
  }

  /** @throws ApiError 403 unless the rule of the action lets the caller */
  require(action: Action, request: FastifyRequest): void {
    try {
      requireAccess(this.userOf(request), action, this.#access.rules);
    } catch (error) {
      if (!(error instanceof MeridianError)) throw error;
      throw new ApiError('forbidden', 'Access Denied', error.message);
    }
  }
}

function factsOf({ method, url, headers, socket }: FastifyRequest): RequestFacts {
  return { method, url, headers, remoteAddress: socket.remoteAddress ?? '', encrypted: 'encrypted' in socket };
}
