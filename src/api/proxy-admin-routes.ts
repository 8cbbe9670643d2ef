// The admin data of a proxy's Envoy: configuration, statistics, clusters (rest-api 4). Global queries the zone over KDS.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MeridianError } from '../base/errors.ts';
import type { Resource } from '../resource/types.ts';
import type { Action } from '../http/access.ts';
import { ApiError } from '../http/error-body.ts';
import { about } from '../http/route-config.ts';

export type ProxyAdminKind = 'configDump' | 'stats' | 'clusters';

/** Queries the proxy of a Dataplane. Rejects with a MeridianError that gives the reason for a missing answer. */
export type ProxyAdmin = (
  dataplane: Resource,
  kind: ProxyAdminKind,
  options: { readonly json: boolean; readonly usedOnly: boolean; readonly includeEds: boolean },
) => Promise<Uint8Array>;

const FAILED = 'Could not execute admin operation';

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
    const said = about('Inspect', `The admin data of the proxy: ${path}`, { produces: ['text/plain'] });
    app.get<{ Params: { mesh: string; name: string }; Querystring: Record<string, string> }>(
      `/meshes/:mesh/dataplanes/:name/${path}`,
      said,
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
          throw new ApiError('bad_request', FAILED, error.message);
        }
      },
    );
  }
}
