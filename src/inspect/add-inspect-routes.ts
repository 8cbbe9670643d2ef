// Registers the inspect routes for policies and sync (rest-api 4).
import type { FastifyInstance } from 'fastify';
import type { ApiContext } from '../api/api-options.ts';
import { noSyncStates, type SyncStates } from '../kds/sender/open-senders.ts';
import type { SendRules } from '../kds/protocol/rules.ts';
import { MeshIndexes } from '../mesh-index/mesh-indexes.ts';
import { addConfigRoute } from './config-routes.ts';
import { explainer, type ConfirmedOf, type DeliveriesElsewhere } from './explainer.ts';
import { addMatrixRoutes, NO_ZONES, type FollowedZones } from './matrix-routes.ts';
import { addPreviewRoute } from './preview-routes.ts';
import { addNameRoutes } from './name-routes.ts';
import { addProxyRoutes } from './proxy-routes.ts';
import { addReachRoutes } from './reach-routes.ts';
import { addSyncRoutes } from './sync-routes.ts';
import { addTlsRoutes } from './tls-routes.ts';

/**
 * Adds the routes, for the option `addRoutes` of the API.
 * @param rules the rules of the sender of this control plane
 * @param syncs what peers of this process have confirmed
 * @param confirmedOf versions of rows that they have confirmed
 * @param elsewhere what zones of other replicas have of rows
 * @param followed all zones, while they are in memory
 * @param shared indexes that others use too; without them, the first request creates some, and they end with the API
 */
export function addPolicyInspect(
  rules: SendRules,
  shared: MeshIndexes | null = null,
  syncs: SyncStates = noSyncStates,
  confirmedOf: ConfirmedOf = () => () => undefined,
  elsewhere: DeliveriesElsewhere = async () => [],
  followed: FollowedZones = NO_ZONES,
): (app: FastifyInstance, context: ApiContext) => void {
  return (app, context) => {
    const { store, insights, clock, closing, options, service, callers, queue } = context;
    const indexes = shared ?? new MeshIndexes({ store, log: options.log, clock, signal: closing });
    if (shared === null) app.addHook('onClose', async () => indexes.ended());
    const inspect = { service, store, insights, indexes, zone: options.zone };
    addProxyRoutes(app, { ...inspect, queue });
    addConfigRoute(app, { ...inspect, callers, queue });
    const reach = { ...inspect, clock, queue, lagOf: (zone: string) => syncs.lagOf(zone) };
    addReachRoutes(app, reach);
    addNameRoutes(app, reach);
    const asked = explainer(context, rules, syncs, confirmedOf, elsewhere);
    addSyncRoutes(app, context, asked);
    addMatrixRoutes(app, context, asked, followed);
    addPreviewRoute(app, context, { rules, indexes, syncs });
    addTlsRoutes(app, { ...inspect, queue });
  };
}
