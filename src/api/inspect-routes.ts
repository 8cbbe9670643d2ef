// What can be asked about a resource beyond its body (rest-api 4): host names of services and what proxies say of themselves.
// Endpoints that need the policy engine register through the option `addRoutes`.
import type { FastifyInstance } from 'fastify';
import { label } from '../resource/labels.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { ApiContext } from './api-options.ts';
import { badQuery } from './error-body.ts';
import { hostnamesOf } from './hostnames.ts';
import { addProxyAdminRoutes } from './proxy-admin-routes.ts';
import { dataplaneType } from './route-types.ts';
import { hasSnis } from './service-snis.ts';

export function addInspectRoutes(app: FastifyInstance, context: ApiContext): void {
  const { service, options, callers } = context;
  addProxyAdminRoutes(
    app,
    (mesh, name) => service.get(dataplaneType, mesh, name),
    options.proxyAdmin,
    (action, request) => callers.require(action, request),
    options.mode,
  );
  addHostnameRoutes(app, context);
  options.addRoutes?.(app, context);
}

/** `_hostnames` of services; of another type it is refused, not unknown (rest-api 4). */
function addHostnameRoutes(app: FastifyInstance, { options, service, store }: ApiContext): void {
  for (const info of resourceTypes) {
    if (info.scope !== 'Mesh' || info.path === '') continue;
    app.get<{ Params: { mesh: string; name: string } }>(`/meshes/:mesh/${info.path}/:name/_hostnames`, async (request) => {
      if (!hasSnis(info.name)) throw badQuery('type', `${info.name} has no host names`);
      const { mesh, name } = request.params;
      const row = await service.get(info, mesh, name);
      const generators = await store.list({ type: 'HostnameGenerator' });
      const zones = options.zone === null ? (await store.list({ type: 'Zone' })).map((zone) => zone.name) : [options.zone];
      const items = hostnamesOf(row, generators, zones, options.zone ?? row.labels[label.zone]);
      return { total: items.length, items };
    });
  }
}
