// The host names under which this API accepts writes. A page of another site can point its own name to this address (DNS
// rebinding), but cannot change the Host header. A foreign name shows that the caller meant another server. Invariant: IP addresses
// and localhost are always accepted, because a page of another site cannot have them as its name.
import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseAuthority } from '../token/request-facts.ts';
import { shown } from '../resource/spec-path.ts';
import { ApiError } from './error-body.ts';

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** @param allowed `apiServer.allowedHosts`: names without a port, in any letter case; `*` allows every name */
export function requireAllowedHost(app: FastifyInstance, allowed: readonly string[]): void {
  const names = new Set(allowed.map((name) => name.toLowerCase()));
  app.addHook('onRequest', (request, _reply, done) => {
    try {
      requireOneHost(request);
      if (!READS.has(request.method)) requireOwn(request, names);
      done();
    } catch (error) {
      done(error as Error);
    }
  });
}

/** Refuses repeated Host headers: Node uses the first, and a proxy may have used the second. @throws ApiError 400 */
function requireOneHost({ raw: { rawHeaders } }: FastifyRequest): void {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') hosts += 1;
  if (hosts > 1) throw new ApiError('bad_request', 'Bad Request', 'Host: must be given once');
}

/** @throws ApiError 403 */
function requireOwn({ headers: { host = '' }, raw }: FastifyRequest, names: ReadonlySet<string>): void {
  const name = parseAuthority(host, 'encrypted' in raw.socket)?.host;
  if (names.has('*') || (name !== undefined && (name === 'localhost' || isIP(name) !== 0 || names.has(name)))) return;
  const reason = `${shown(host)} is not a name of this control plane: nothing is written; if it is one, add it to apiServer.allowedHosts`;
  // The name of the header: a client sees that a token does not help.
  throw new ApiError('forbidden', 'Access Denied', `Host: ${reason}`, [{ field: 'Host', reason }]);
}
