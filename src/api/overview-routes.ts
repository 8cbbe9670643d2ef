// Zones and Dataplanes together with their insights (rest-api 3). A missing insight is omitted.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { recentWarning } from '../zone-status/recent-calls.ts';
import { readableProblems } from '../zone-status/readable-problems.ts';
import { countedProxies } from '../zone-status/zone-proxies.ts';
import { zoneSync } from '../zone-status/zone-sync.ts';
import { competingControlPlanes } from '../zone-status/competing-control-planes.ts';
import { typeOf, type TypeInfo } from '../resource/type-registry.ts';
import { nameText, type JsonObject, type Resource } from '../resource/types.ts';
import { permitted } from '../http/access.ts';
import type { ApiContext } from './api-options.ts';
import { nextPage, parsePage, queryOf, routePathOf } from '../http/list-query.ts';
import { listRows, rowFilterOf } from './list-rows.ts';
import { expiryWarning } from '../token/zone-token-advice.ts';
import { metaOf } from '../document/universal-form.ts';
import { proxyCountsOf } from './insight-bodies.ts';
import { peerConflicts } from './peer-conflicts.ts';
import { about, component, PAGE, pageOf } from '../http/route-config.ts';
import { dataplaneType, meshType, zoneType } from './route-types.ts';

type Overview = {
  readonly info: TypeInfo;
  /** The type of the answer, and the keys of the resource and its insight. */
  readonly type: string;
  readonly key: string;
  readonly insightKey: string;
};

const zones: Overview = {
  info: zoneType,
  type: 'ZoneOverview',
  key: 'zone',
  insightKey: 'zoneInsight',
};
const dataplanes: Overview = {
  info: dataplaneType,
  type: 'DataplaneOverview',
  key: 'dataplane',
  insightKey: 'dataplaneInsight',
};

export function addOverviewRoutes(app: FastifyInstance, context: ApiContext): void {
  for (const url of ['/zones/_overview', '/zones+insights']) addList(app, url, zones, context);
  for (const url of ['/zones/:name/_overview', '/zones+insights/:name']) addItem(app, url, zones, context);
  for (const prefix of ['', '/meshes/:mesh'])
    for (const url of [`${prefix}/dataplanes/_overview`, `${prefix}/dataplanes+insights`]) addList(app, url, dataplanes, context);
  for (const url of ['/meshes/:mesh/dataplanes/:name/_overview', '/meshes/:mesh/dataplanes+insights/:name'])
    addItem(app, url, dataplanes, context);
}

function addList(app: FastifyInstance, url: string, overview: Overview, context: ApiContext): void {
  const { store, service } = context;
  const { info, type } = overview;
  const query = info === dataplaneType ? ([...PAGE, 'tag', 'gateway'] as const) : PAGE;
  const list = about('Insights', `${info.plural} with their connections`, { query, answer: pageOf(type) });
  app.get<{ Params: { mesh?: string } }>(url, list, async (request) => {
    const { mesh } = request.params;
    const query = queryOf(request);
    const page = parsePage(query);
    const filter = rowFilterOf(overview.info, mesh, query, routePathOf(request));
    if (mesh !== undefined) await service.get(meshType, '', mesh, 'Failed to retrieve Mesh');
    const { rows, total } = await listRows(store, filter, page);
    return { total, items: await describe(rows, overview, context, request), next: nextPage(request, page, total) };
  });
}

function addItem(app: FastifyInstance, url: string, overview: Overview, context: ApiContext): void {
  const { info, type } = overview;
  const summary = `One ${info.singular} with its connections`;
  const item = about('Insights', summary, { answer: component(type) });
  app.get<{ Params: { mesh?: string; name: string } }>(url, item, async (request) => {
    const { mesh = '', name } = request.params;
    const row = await context.service.get(overview.info, mesh, name);
    return (await describe([row], overview, context, request))[0];
  });
}

async function describe(
  rows: readonly Resource[],
  overview: Overview,
  context: ApiContext,
  request: FastifyRequest,
): Promise<JsonObject[]> {
  const { store, insights: proxies, clock, options, callers } = context;
  const mayRead = permitted((name) => callers.requireMay(typeOf(name), request));
  const { info, type, key, insightKey } = overview;
  const kept = info === dataplaneType ? await proxies.of(rows) : null;
  const zoneInsights =
    kept === null ? await store.getMany(rows.map(({ name }) => ({ type: 'ZoneInsight', mesh: '', name }))) : [];
  const conflicts = info === zoneType ? await peerConflicts(rows, context) : new Map<string, string>();
  const insights = new Map(zoneInsights.map((row) => [nameText(row), row]));
  return rows.map((row) => {
    const insight = kept === null ? insights.get(nameText(row)) : kept.rowOf(row);
    // The status of an insight lists problems. The hold of a Dataplane is for control planes alone.
    const { hold: _hold, lag: _lag, proxies: _proxies, ...problems } = readableProblems(insight?.status ?? {}, mayRead);
    const unknown = kept?.whyUnknown(row) ?? '';
    const counted = info === zoneType ? countedProxies(insight?.status ?? {}) : null;
    const now = clock.now();
    const zone = { name: row.name, isEnabled: row.spec['enabled'] !== false };
    const sync = info === zoneType ? { sync: syncJson(zone, insight ?? NO_INSIGHT, options.lagOf?.(row.name), now) } : {};
    const seen = insight === undefined ? sync : { [insightKey]: insight.spec, ...problems, ...sync };
    const fromInsight =
      insight === undefined ? [] : [rivalWarning(insight, now), warningOf(insight, now), ...callWarnings(insight, now)];
    const warnings = [conflicts.get(row.name), ...fromInsight].filter((one) => one !== undefined);
    const instead = {
      ...(unknown !== '' && { insightUnknown: unknown }),
      ...(counted !== null && { proxies: proxyCountsOf(counted) }),
    };
    return { ...metaOf(info, row, type), [key]: row.spec, ...seen, ...instead, ...(warnings.length > 0 && { warnings }) };
  });
}

const NO_INSIGHT = { spec: {}, status: {} };

function syncJson(...facts: Parameters<typeof zoneSync>): JsonObject {
  const { pending, ...sync } = zoneSync(...facts);
  return { ...sync, pending: [...pending] };
}

/** The warning about two control planes that have one store id. */
function rivalWarning({ type, name, spec }: Resource, now: Date): string | undefined {
  const rivals = type === 'ZoneInsight' ? competingControlPlanes(spec, now) : [];
  if (rivals.length === 0) return undefined;
  return (
    `control planes take zone ${name} from each other: ${rivals.slice(0, 5).join(', ')}. If they have different databases, stop all but ` +
    'one. If they are replicas, their leader changes too often: look at their database'
  );
}

/** The warning that asks an operator to act on the zone soon. */
function warningOf({ type, name, status }: Resource, now: Date): string | undefined {
  const { tokenExpiresAt } = status;
  if (type !== 'ZoneInsight' || typeof tokenExpiresAt !== 'string') return undefined;
  return expiryWarning(name, new Date(tokenExpiresAt), now) ?? undefined;
}

function callWarnings({ type, name, status }: Resource, now: Date): string[] {
  if (type !== 'ZoneInsight') return [];
  return (['refusedStreams', 'delayedFullStates'] as const).flatMap((field) => recentWarning(field, name, status, now) ?? []);
}
