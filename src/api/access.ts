// Who calls, and whether they may touch what only admins may (rest-api 5). Tokens plug in through the option `access`; without
// them the machine itself is admin. Invariant: a request that was not identified counts as anonymous.
import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TypeInfo } from '../resource/type-registry.ts';
import { ApiError } from './error-body.ts';

export type User = { readonly name: string; readonly groups: readonly string[] };

export type Access = {
  /** Who calls. @throws ApiError 401 when what the caller shows is not valid */
  readonly identify: (request: FastifyRequest) => User | Promise<User>;
  /** Whether this user may read and write types that are `adminOnly`. */
  readonly isAdmin: (user: User) => boolean;
};

export const ADMIN: User = { name: 'mesh-system:admin', groups: ['mesh-system:admin', 'mesh-system:authenticated'] };
export const ANONYMOUS: User = { name: 'mesh-system:anonymous', groups: ['mesh-system:unauthenticated'] };

/** The machine of the control plane is admin, everybody else anonymous. */
export const localAccess: Access = {
  identify: (request) => (isFromThisMachine(request) ? ADMIN : ANONYMOUS),
  isAdmin: ({ name, groups }) => name === ADMIN.name || groups.includes('mesh-system:admin'),
};

/** Knows the user of each request in flight. */
export class Callers {
  readonly #access: Access;
  readonly #users = new WeakMap<FastifyRequest, User>();

  constructor(access: Access) {
    this.#access = access;
  }

  /** Identifies every caller before anything else looks at the request; the index and the GUI never refuse (rest-api 5). */
  follow(app: FastifyInstance): void {
    app.addHook('onRequest', async (request) => {
      const { url = '' } = request.routeOptions;
      if (request.is404 || url === '/' || url.startsWith('/gui')) return;
      this.#users.set(request, await this.#access.identify(request));
    });
  }

  userOf(request: FastifyRequest): User {
    return this.#users.get(request) ?? ANONYMOUS;
  }

  /** @throws ApiError 403 for types that are for admins alone */
  requireMay(info: TypeInfo, request: FastifyRequest): void {
    if (!info.adminOnly || this.#access.isAdmin(this.userOf(request))) return;
    const reason = `${info.name} can be read and written by admins alone: from the machine of the control plane, or with an admin's token`;
    throw new ApiError('forbidden', 'Access Denied', reason);
  }
}

/** The peer is this machine, nobody stands between, and no foreign page in a browser makes it call (rest-api 5, localhostIsAdmin). */
export function isFromThisMachine(request: FastifyRequest): boolean {
  const { headers, socket } = request;
  if (!isLoopback(socket.remoteAddress ?? '')) return false;
  if (['forwarded', 'x-forwarded-for', 'x-real-ip'].some((name) => headers[name] !== undefined)) return false;
  const host = request.hostname.replace(/^\[|\]$/g, '');
  if (host !== 'localhost' && !isLoopback(host)) return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  return headers.origin === undefined || headers.origin.replace(/^https?:\/\//, '') === headers.host;
}

function isLoopback(address: string): boolean {
  const plain = address.startsWith('::ffff:') ? address.slice(7) : address;
  return plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'));
}
