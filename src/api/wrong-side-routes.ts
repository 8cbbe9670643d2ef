// Paths that only the other side has: a global, or a zone. They are here too, so that a caller learns where to call.
import type { FastifyInstance } from 'fastify';
import type { ApiOptions } from './api-options.ts';
import { ApiError } from '../http/error-body.ts';
import { SMALL_BODY_BYTES } from '../http/http-server.ts';
import { about } from '../http/route-config.ts';

type Side = Pick<ApiOptions, 'mode' | 'zone' | 'federated'>;

/** @property needed what is done where, as a part of a sentence: `another store of a zone is accepted on global` */
type Elsewhere = { readonly method: 'GET' | 'POST'; readonly url: string; readonly tag: string; readonly needed: string };

export function addWrongSideRoute(app: FastifyInstance, { method, url, tag, needed }: Elsewhere, side: Side): void {
  const refuse = async (): Promise<never> => {
    throw new ApiError('bad_request', 'Not on this side', `this control plane is ${describeSide(side)}: ${needed}`);
  };
  app.route({
    ...{ method, url, bodyLimit: SMALL_BODY_BYTES },
    ...about(tag, `Refused on this side: ${needed}`),
    // Refuse before the body is read: no body is valid.
    onRequest: refuse,
    handler: refuse,
  });
}

/** `the global`, `zone east` or `zone east, which has no global`. */
function describeSide({ mode, zone, federated }: Side): string {
  if (mode === 'global') return 'the global';
  return `zone ${zone ?? ''}${federated ? '' : ', which has no global'}`;
}
