// The options of the REST API, from the parts of a control plane: the routes of the other folders are added here.
import type { ApiOptions } from '../api/api-options.ts';
import { sanitizedConfig } from '../base/config.ts';
import { productName, productVersion } from '../base/version.ts';
import { clusterIdOf, meshDefaults } from '../defaults/create-defaults.ts';
import { addEventRoutes } from '../events/event-routes.ts';
import { addSummaryRoute } from '../events/summary-route.ts';
import { addPolicyInspect } from '../inspect/add-inspect-routes.ts';
import { WriteAdvice } from '../inspect/write-advice.ts';
import { addProblemRoutes } from '../problems/problem-routes.ts';
import { addProgressRoutes } from '../receipts/progress-routes.ts';
import { addReceiptRoutes, followNothing, rolloutFollower, type OnwardFollower } from '../receipts/receipt-routes.ts';
import type { Parts } from './create-parts.ts';

/** Everything but the access to proxies, which differs between the sides. */
export function apiOptionsOf(parts: Parts): Omit<ApiOptions, 'proxyAdmin'> {
  const { side, identity, config, clock, log, registry, answering: store, rules, indexes, tokens } = parts;
  const { senders, receipts, progress, deliveries, onward, events, problems, roster, membership } = parts;
  const { apiServer } = config;
  const askOnward: OnwardFollower = {
    clock,
    of: (key, waitMs, signal) => onward.of(key, waitMs, signal),
    ofMany: (keys, signal) => onward.ofMany(keys, signal),
  };
  const secondHop = identity.federated ? askOnward : null;
  const isAlone = identity.mode === 'zone' && !identity.federated;
  const followRollout = isAlone ? followNothing : rolloutFollower(receipts, rules, store, secondHop);
  const advice = new WriteAdvice({ indexes, clock });
  const addInspect = addPolicyInspect(
    rules,
    indexes,
    senders,
    (row) => receipts.confirmedOf(row),
    (rows, zones, signal) => deliveries.of(rows, zones, signal),
    events.zones,
  );
  return {
    store,
    ...identity,
    product: productName,
    productVersion,
    instanceId: parts.instanceId,
    clusterId: () => clusterIdOf(store),
    readOnly: apiServer.readOnly,
    config: sanitizedConfig(config),
    metrics: registry,
    clock,
    log,
    meshDefaults: (mesh) => meshDefaults(store, mesh, side),
    access: tokens.access,
    tokens: tokens.routes,
    rateLimit: apiServer.rateLimit,
    corsAllowedDomains: apiServer.corsAllowedDomains,
    allowedHosts: apiServer.allowedHosts,
    disableOriginLabelValidation: config.multizone.zone.disableOriginLabelValidation,
    unsafeDelete: config.store.unsafeDelete,
    insights: identity.mode === 'global' ? config.multizone.global.insights : 'all',
    lagOf: (zone) => senders.lagOf(zone),
    followRollout,
    adviceOn: (keys, asked) => advice.on(keys, asked),
    ...(side.mode === 'global' && { membershipChange: (change) => membership.changeOf(change) }),
    addRoutes: (app, context) => {
      addInspect(app, context);
      addReceiptRoutes(app, context, receipts, followRollout, secondHop);
      addEventRoutes(app, context, events.hub);
      addSummaryRoute(app, context, events);
      addProgressRoutes(app, context, progress);
      addProblemRoutes(app, context, problems, roster);
    },
  };
}
