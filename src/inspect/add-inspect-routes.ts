// Registers the inspect routes for policies and sync (rest-api 4). The first request creates the index. It ends with the API.
import type { FastifyInstance } from 'fastify';
import type { ApiContext } from '../api/api-options.ts';
import type { SendRules } from '../kds/rules.ts';
import { MeshIndexes } from './mesh-indexes.ts';
import { addProxyRoutes } from './proxy-routes.ts';
import { addReachRoutes } from './reach-routes.ts';
import { addSyncRoutes } from './sync-routes.ts';

/** For the option `addRoutes` of the API. @param rules the rules of this control plane's sender */
export function addPolicyInspect(rules: SendRules): (app: FastifyInstance, context: ApiContext) => void {
  return (app, context) => {
    const { store, clock, closing, options, service } = context;
    const indexes = new MeshIndexes({ store, log: options.log, clock, signal: closing });
    app.addHook('onClose', async () => indexes.ended());
    addProxyRoutes(app, { service, indexes });
    addReachRoutes(app, { service, indexes });
    addSyncRoutes(app, context, rules);
  };
}
