// The routes to accept another peer: on global a new store of a zone, on a zone a new global. Only admins may call them, and calls
// are audited.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { MeridianError, Violation } from '../base/errors.ts';
import { isObject } from '../resource/read-json.ts';
import { acceptPeer, zoneStoreKey } from '../peering/peer-identity.ts';
import { clusterIdKey } from '../defaults/create-defaults.ts';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from './api-options.ts';
import { ApiError } from '../http/error-body.ts';
import { SMALL_BODY_BYTES } from '../http/http-server.ts';
import { addWrongSideRoute } from './wrong-side-routes.ts';
import { about, component } from '../http/route-config.ts';
import { zoneType } from './route-types.ts';

const TAG = 'Control plane';
const ADOPT_PATH = '/zones/:name/_adopt';
const ACCEPT_PATH = '/_accept-global';
const TEXT = { type: 'string' };
const ADOPT = about(TAG, 'Accept another store for a zone: the one given, or the one that was refused last', {
  body: { type: 'object', properties: { storeId: TEXT, forget: { type: 'boolean' } }, additionalProperties: false },
  answer: component('AdoptedStore'),
});
const ACCEPT = about(TAG, 'Accept another global for this zone: the one given, or the one that was refused last', {
  body: { type: 'object', properties: { clusterId: TEXT }, additionalProperties: false },
  answer: component('AcceptedGlobal'),
});
const ID = /^[\x21-\x7e]{1,100}$/;

export function addIdentityRoutes(app: FastifyInstance, { options, store, service, callers, audit }: ApiContext): void {
  const onRequest = async (request: FastifyRequest): Promise<void> => callers.require('acceptPeers', request);
  const route = { onRequest, bodyLimit: SMALL_BODY_BYTES };
  const { readOnly, mode, federated } = options;
  const refuse = (url: string, needed: string): void =>
    addWrongSideRoute(app, { method: 'POST', url, tag: TAG, needed }, options);
  if (mode === 'global') refuse(ACCEPT_PATH, 'another global is accepted in the zone, so call the zone');
  else refuse(ADOPT_PATH, 'another store of a zone is accepted on global, so call the global');
  if (mode === 'zone' && !federated) refuse(ACCEPT_PATH, 'another global is accepted in a zone that has one');
  if (mode === 'global')
    app.post<{ Params: { name: string } }>(
      ADOPT_PATH,
      { ...ADOPT, ...route },
      async (request): Promise<Answer<'AdoptedStore'>> => {
        requireWritable(readOnly);
        const { name } = request.params;
        const { storeId, forget } = fieldsOf(request.body, ['storeId', 'forget']);
        if (forget !== undefined && (forget !== true || storeId !== undefined))
          throw invalid([{ field: 'forget', reason: 'must be true, without storeId' }]);
        const zone = await service.get(zoneType, '', name);
        const id = forget === true ? '' : idIn('storeId', storeId);
        const accepted = await acceptPeer(store, zoneStoreKey(name), id, { type: zone.type, mesh: '', name }).catch(explain);
        audit.accepted(request, `store "${accepted.id}" for Zone ${name} in place of "${accepted.before ?? ''}"`);
        return { zone: name, storeId: accepted.id, before: accepted.before ?? '' };
      },
    );
  else if (federated)
    app.post(ACCEPT_PATH, { ...ACCEPT, ...route }, async (request): Promise<Answer<'AcceptedGlobal'>> => {
      requireWritable(readOnly);
      const { clusterId } = fieldsOf(request.body, ['clusterId']);
      const accepted = await acceptPeer(store, clusterIdKey, idIn('clusterId', clusterId)).catch(explain);
      audit.accepted(request, `the global of cluster "${accepted.id}" in place of "${accepted.before ?? ''}"`);
      return { clusterId: accepted.id, before: accepted.before ?? '' };
    });
}

const TITLE = 'Could not accept the peer';

function explain(error: MeridianError): never {
  throw error.code === 'conflict' ? new ApiError('conflict', TITLE, error.message) : error;
}

function requireWritable(readOnly: boolean): void {
  if (readOnly) throw new ApiError('read_only', 'Method not allowed', 'apiServer.readOnly is true on this control plane');
}

function fieldsOf(body: unknown, known: readonly string[]): Record<string, unknown> {
  if (body === undefined || body === null) return {};
  if (!isObject(body)) throw invalid([{ field: '', reason: 'must be an object' }]);
  const unknown = Object.keys(body).filter((key) => !known.includes(key));
  if (unknown.length > 0)
    throw invalid([{ field: (unknown[0] ?? '').slice(0, 100), reason: `is unknown; known are ${known.join(', ')}` }]);
  return body;
}

function idIn(field: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || !ID.test(value))
    throw invalid([{ field, reason: 'must be a string of 1 to 100 visible ASCII characters' }]);
  return value;
}

function invalid(violations: readonly Violation[]): ApiError {
  return new ApiError('invalid', TITLE, 'the body is not valid', violations);
}
