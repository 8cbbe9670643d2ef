// The rotation of the certificate authority of a MeshIdentity: one route starts it, the other reports its step. The leader of the zone
// does the work. Invariant: no answer contains a key.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { displayNameOf } from '../resource/labels.ts';
import { readRotation, rotationKey, rotationSpec } from '../resource/identity-rotation.ts';
import { isMeshIdentityReady } from '../resource/mesh-identity.ts';
import { homeZoneOf } from '../resource/ownership.ts';
import { objectsOf, textOf } from '../resource/read-json.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';
import type { Answer } from '../answers/answers.ts';
import type { ApiContext } from './api-options.ts';
import { ApiError } from '../http/error-body.ts';
import { SMALL_BODY_BYTES } from '../http/http-server.ts';
import { addWrongSideRoute } from './wrong-side-routes.ts';
import { about, component } from '../http/route-config.ts';

type At = { Params: { mesh: string; name: string } };

const IDENTITY = typeOf('MeshIdentity');
const TELL_PATH = `/meshes/:mesh/${IDENTITY.path}/:name/_rotation`;
const ASK_PATH = `/meshes/:mesh/${IDENTITY.path}/:name/_rotate`;
const TAG = 'Identity';
const TITLE = 'Could not rotate the authority';
const ASK = about(TAG, 'Change the certificate authority of a MeshIdentity in this zone, without a failed request', {
  answer: component('AuthorityRotation'),
});
const TELL = about(TAG, 'How far the change of a certificate authority is', { answer: component('AuthorityRotation') });

/** A zone has them: each zone has an authority of its own. */
export function addRotationRoutes(app: FastifyInstance, { options, store, service, callers, audit }: ApiContext): void {
  const { mode, zone, readOnly } = options;
  if (mode !== 'zone' || zone === null) {
    const needed = 'each zone has an authority of its own for a MeshIdentity, so call the zone';
    addWrongSideRoute(app, { method: 'GET', url: TELL_PATH, tag: TAG, needed }, options);
    addWrongSideRoute(app, { method: 'POST', url: ASK_PATH, tag: TAG, needed }, options);
    return;
  }
  const onRequest = async (request: FastifyRequest): Promise<void> => callers.require('adminResources', request);
  const stateOf = async (identity: Resource): Promise<Answer<'AuthorityRotation'>> => {
    const row = await store.get(rotationKey(identity.mesh, identity.name));
    const rotation = row === undefined ? null : readRotation(row);
    const { waiting, waitsFor, until } =
      rotation === null || rotation.step === 'requested' ? { waiting: 0, waitsFor: [], until: '' } : rotation;
    return {
      ...{ mesh: identity.mesh, name: displayNameOf(identity), authority: textOf(identity.status['authority']) },
      ...{ step: rotation?.step ?? 'none', waiting, waitsFor: [...waitsFor], until },
    };
  };
  app.get<At>(
    TELL_PATH,
    TELL,
    async ({ params }): Promise<Answer<'AuthorityRotation'>> =>
      await stateOf(await service.get(IDENTITY, params.mesh, params.name)),
  );
  app.post<At>(
    ASK_PATH,
    { ...ASK, onRequest, bodyLimit: SMALL_BODY_BYTES },
    async (request): Promise<Answer<'AuthorityRotation'>> => {
      if (readOnly) throw new ApiError('read_only', 'Method not allowed', 'apiServer.readOnly is true on this control plane');
      const identity = await service.get(IDENTITY, request.params.mesh, request.params.name, TITLE);
      const fault = faultOf(identity, zone);
      if (fault !== null) throw new ApiError('conflict', TITLE, fault);
      const { mesh, name } = identity;
      const key = rotationKey(mesh, name);
      const outcome = await store.write({ op: 'create', key, labels: {}, spec: rotationSpec({ step: 'requested' }) });
      if (outcome.result === 'exists') {
        const { step } = await stateOf(identity);
        throw new ApiError('conflict', TITLE, `a rotation of ${name} is not over: its step is ${step}`);
      }
      if (!('version' in outcome)) throw new ApiError('conflict', TITLE, `the request was not stored: ${outcome.result}`);
      audit.write(request, { key, result: 'created', version: outcome.version });
      return await stateOf(identity);
    },
  );
}

/** The reason why the authority of a MeshIdentity cannot be changed here; null if it can. */
function faultOf(identity: Resource, zone: string): string | null {
  const { name, status } = identity;
  const home = homeZoneOf(identity, zone);
  if (home !== zone) return `MeshIdentity ${name} is of zone ${home}: ask a control plane of that zone`;
  if (!isMeshIdentityReady(identity)) return `MeshIdentity ${name} is not ready: its conditions say why`;
  const hasTrust = objectsOf(status['conditions']).some(
    ({ type, status: state }) => type === 'MeshTrustCreated' && state === 'True',
  );
  return hasTrust ? null : `MeshIdentity ${name} makes no MeshTrust, so its authority has to be changed by hand`;
}
