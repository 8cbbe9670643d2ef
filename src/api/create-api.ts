// The REST API of a control plane: one server, and the files that register its routes (rest-api 1 to 4). Each has one subject.
import type { FastifyInstance } from 'fastify';
import { FairQueue } from '../base/fair-queue.ts';
import { Callers, localAccess } from '../http/access.ts';
import { offThreadChecker } from '../writes/off-thread-checker.ts';
import { DocumentThreads } from '../writes/document-threads.ts';
import { followConnections } from '../http/caller-work.ts';
import type { ApiContext, ApiOptions } from './api-options.ts';
import { addApplyRoutes } from './apply-routes.ts';
import { AuditLog } from '../writes/audit-log.ts';
import { checkUrls } from '../http/check-urls.ts';
import { compressAnswers } from '../http/compress.ts';
import { followConventions } from '../http/http-conventions.ts';
import { measureRequests } from '../http/http-metrics.ts';
import { createServer } from '../http/http-server.ts';
import { addFormatRoute } from './format-routes.ts';
import { addGuiRoutes } from './gui-routes.ts';
import { hideKeys } from '../http/hide-keys.ts';
import { addHistoryRoutes } from './history-routes.ts';
import { addIndexRoutes } from './index-routes.ts';
import { addInsightRoutes } from './insight-routes.ts';
import { addInspectRoutes } from './inspect-routes.ts';
import { requireAllowedHost } from '../http/allowed-hosts.ts';
import { readJsonBodies } from '../http/json-body.ts';
import { addKriRoutes } from './kri-routes.ts';
import { addIdentityRoutes } from './identity-routes.ts';
import { addRotationRoutes } from './rotation-routes.ts';
import { addOpenApiRoute, collectRoutes } from './openapi.ts';
import { addOverviewRoutes } from './overview-routes.ts';
import { addResourceRoutes } from './resource-routes.ts';
import { printAnswers } from '../http/print-answers.ts';
import { limitRate } from '../http/rate-limit.ts';
import { ResourceService } from '../writes/resource-service.ts';
import { addTokenPosts } from './token-post-routes.ts';
import { ProxyInsights } from '../zone-status/proxy-insights.ts';
import { Watches } from './watch-routes.ts';
import { Yaml } from '../http/yaml.ts';
import { readYamlBodies } from '../http/yaml-body.ts';

export type { ApiOptions } from './api-options.ts';

/**
 * A change passes the event loop about ten times on its way to a proxy. With this rest, a caller's heavy work delays it once or
 * twice.
 */
const REST = 3;

/** A server that does not listen yet. Its `close` finishes the requests in flight and ends the watches. */
export function createApi(options: ApiOptions): FastifyInstance {
  const threads = new DocumentThreads(options.clock);
  const yaml = new Yaml(threads);
  const app = createServer(options, yaml, options.timeouts);
  app.addHook('onClose', async () => await threads.stop());
  const routes = collectRoutes(app);
  const callers = new Callers(options.access ?? localAccess);
  const queue = new FairQueue({ rest: REST });
  followConnections(app);
  printAnswers(app, queue);
  measureRequests(app, options.metrics);
  followConventions(app, options.corsAllowedDomains ?? []);
  requireAllowedHost(app, options.allowedHosts ?? []);
  hideKeys(app, callers);
  compressAnswers(app);
  readJsonBodies(app, queue);
  readYamlBodies(app, yaml, queue);
  limitRate(app, options.rateLimit, options.clock);
  callers.follow(app, options.clock);
  checkUrls(app);

  const context = contextOf(app, options, { callers, queue, yaml, threads });
  addIndexRoutes(app, context);
  addGuiRoutes(app);
  addFormatRoute(app, yaml);
  addResourceRoutes(app, context, new Watches(context));
  addHistoryRoutes(app, context);
  addOverviewRoutes(app, context);
  addInsightRoutes(app, context);
  addKriRoutes(app, context);
  addApplyRoutes(app, context);
  addInspectRoutes(app, context);
  addIdentityRoutes(app, context);
  addRotationRoutes(app, context);
  addTokenPosts(app, options.tokens ?? [], context);
  addOpenApiRoute(app, options, routes);
  return app;
}

type Tools = Pick<ApiContext, 'callers' | 'queue' | 'yaml'> & { readonly threads: DocumentThreads };

function contextOf(app: FastifyInstance, options: ApiOptions, { callers, queue, yaml, threads }: Tools): ApiContext {
  const { store, mode, zone, federated, readOnly, meshDefaults, unsafeDelete = false, insights: kept = 'all' } = options;
  const checksOrigin = options.disableOriginLabelValidation !== true;
  const rules = { writer: { mode, zone, federated }, checksOrigin };
  const checkOffThread = offThreadChecker(threads, rules);
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  return {
    options,
    store,
    insights: new ProxyInsights({ store, kept }),
    rules,
    callers,
    yaml,
    service: new ResourceService({ store, rules, readOnly, unsafeDelete, meshDefaults, checkOffThread, queue }),
    checkOffThread,
    queue,
    audit: new AuditLog(options.log, callers),
    clock: options.clock,
    closing: closing.signal,
  };
}
