// Queries about a resource beyond its body (rest-api 4): hostnames of services and the admin data of proxies.
// Endpoints that need the policy engine register through the option `addRoutes`.
import type { FastifyInstance } from 'fastify';
import { isServiceType, resourceTypes } from '../resource/type-registry.ts';
import type { ApiContext } from './api-options.ts';
import { ApiError } from '../http/error-body.ts';
import { hostnamesOf } from './hostname-answers.ts';
import { addProxyAdminRoutes } from './proxy-admin-routes.ts';
import { about } from '../http/route-config.ts';
import { dataplaneType } from './route-types.ts';

export function addInspectRoutes(app: FastifyInstance, context: ApiContext): void {
  const { service, options, callers } = context;
  addProxyAdminRoutes(
    app,
    (mesh, name) => service.get(dataplaneType, mesh, name, 'Could not get dataplane resource'),
    options.proxyAdmin,
    (action, request) => callers.require(action, request),
  );
  addHostnameRoutes(app, context);
  options.addRoutes?.(app, context);
}

/** `_hostnames` of services. It is refused for other types. */
function addHostnameRoutes(app: FastifyInstance, { options, service, store }: ApiContext): void {
  const services = resourceTypes.filter(({ name }) => isServiceType(name));
  for (const info of services) {
    const names = about(info.plural, 'Host names of the service, by zone');
    app.get<{ Params: { mesh: string; name: string } }>(`/meshes/:mesh/${info.path}/:name/_hostnames`, names, async (request) => {
      const { mesh, name } = request.params;
      const row = await service.get(info, mesh, name, 'could not retrieve service');
      const generators = await store.list({ type: 'HostnameGenerator' });
      const zones = options.zone === null ? (await store.list({ type: 'Zone' })).map((zone) => zone.name) : [];
      const items = hostnamesOf(row, generators, { own: options.zone, zones });
      return { total: items.length, items };
    });
  }
  const paths = services.map(({ path }) => path).join(',');
  const refused = about('Inspect', 'Refused: only services have host names');
  app.get('/meshes/:mesh/:path/:name/_hostnames', refused, async () => {
    throw new ApiError('bad_request', `only "${paths}" are available for inspection`, `only ${paths} have host names`);
  });
}
