// The admin data of a proxy's Envoy: configuration, statistics, clusters (rest-api 4). Global queries the zone over KDS.
// No control plane here generates the configuration of a proxy, so `_config` returns that reason.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MeridianError } from '../base/errors.ts';
import type { Resource } from '../resource/types.ts';
import type { Action } from './access.ts';
import { ApiError } from './error-body.ts';
import { about } from './route-config.ts';

export type ProxyAdminKind = 'configDump' | 'stats' | 'clusters';

/** Queries the proxy of a Dataplane. Rejects with a MeridianError that gives the reason for a missing answer. */
export type ProxyAdmin = (
  dataplane: Resource,
  kind: ProxyAdminKind,
  options: { readonly json: boolean; readonly usedOnly: boolean; readonly includeEds: boolean },
) => Promise<Uint8Array>;

const FAILED = 'Could not execute admin operation';
const NOT_ON_GLOBAL =
  'a global generates no configuration for proxies: ask the zone of the proxy; _effective on this control plane shows the policies of the proxy too';
const NOT_GENERATED =
  'this control plane generates no configuration for proxies yet; _effective, _rules and _layout show the policies of this proxy';

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
  mode: 'global' | 'zone',
): void {
  const summary = 'The configuration of a proxy; 405 on a global';
  const own = about('Inspect', summary, { errors: [405] });
  app.get<{ Params: { mesh: string; name: string } }>('/meshes/:mesh/dataplanes/:name/_config', own, async (request) => {
    requireMay('viewConfigDump', request);
    if (mode === 'global') throw new ApiError('read_only', 'Method not allowed', NOT_ON_GLOBAL);
    await getDataplane(request.params.mesh, request.params.name);
    throw new ApiError('bad_request', FAILED, NOT_GENERATED);
  });
  for (const [path, [kind, action]] of Object.entries(KINDS)) {
    const said = about('Inspect', `What the proxy says: ${path}`, { produces: ['text/plain'] });
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
