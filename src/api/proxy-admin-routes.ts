// What a proxy's Envoy says of itself: configuration, statistics, clusters (rest-api 4). On global the zone is asked over KDS.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MeridianError } from '../base/errors.ts';
import type { Resource } from '../resource/types.ts';
import type { Action } from '../token/access-rules.ts';
import { ApiError } from './error-body.ts';
import type { RouteConfig } from './http-conventions.ts';

export type ProxyAdminKind = 'configDump' | 'stats' | 'clusters';

/** Asks the proxy of a Dataplane. Rejects with a MeridianError that says why there is no answer. */
export type ProxyAdmin = (
  dataplane: Resource,
  kind: ProxyAdminKind,
  options: { readonly json: boolean; readonly usedOnly: boolean; readonly includeEds: boolean },
) => Promise<Uint8Array>;

const produces: RouteConfig = { produces: ['text/plain'] };
const KINDS: Readonly<Record<string, readonly [ProxyAdminKind, Action]>> = {
  xds: ['configDump', 'viewConfigDump'],
  stats: ['stats', 'viewStats'],
  clusters: ['clusters', 'viewClusters'],
};

export function addProxyAdminRoutes(
  app: FastifyInstance,
  getDataplane: (mesh: string, name: string) => Promise<Resource>,
  ask: ProxyAdmin,
  requireMay: (action: Action, request: FastifyRequest) => void,
): void {
  for (const [path, [kind, action]] of Object.entries(KINDS)) {
    app.get<{ Params: { mesh: string; name: string }; Querystring: Record<string, string> }>(
      `/meshes/:mesh/dataplanes/:name/${path}`,
      { config: produces },
      async (request, reply) => {
        requireMay(action, request);
        const { mesh, name } = request.params;
        const { format, usedonly, include_eds } = request.query;
        const dataplane = await getDataplane(mesh, name);
        const json = kind === 'configDump' || format === 'json';
        const options = { json, usedOnly: usedonly !== 'false', includeEds: include_eds === 'true' };
        try {
          const answer = await ask(dataplane, kind, options);
          return await reply.type(json ? 'application/json' : 'text/plain').send(Buffer.from(answer));
        } catch (error) {
          if (!(error instanceof MeridianError)) throw error;
          throw new ApiError('bad_request', 'Could not execute admin operation', error.message);
        }
      },
    );
  }
}
