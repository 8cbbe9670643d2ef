// Derives mesh routes from the Gateway API routes of this control plane, again whenever a route or a referent appears, changes
// or goes (D24). In: rows HTTPRoute, TCPRoute and services. Out: rows that the route owns, and its status.
// Invariant: only what differs is written, and a row that was not derived is never touched.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { parseRoute, readableParents } from '../gateway-api/parse-route.ts';
import { type Resolver, serviceResolver } from '../gateway-api/service-resolver.ts';
import { invalidStatus, routeStatus } from '../gateway-api/route-status.ts';
import { documentOf, GATEWAY_TYPES } from '../gateway-api/stored-document.ts';
import { type DerivedResource, toMeshRoutes } from '../gateway-api/to-mesh-routes.ts';
import { computeLabels, type ControlPlaneIdentity } from '../resource/compute-labels.ts';
import { label } from '../resource/labels.ts';
import { completeSpec } from '../resource/schema/complete-spec.ts';
import { namesOf } from '../resource/stored-name.ts';
import { isServiceType, SERVICE_TYPES, typeOf } from '../resource/type-registry.ts';
import type { JsonObject, Labels, Resource, ResourceKey } from '../resource/types.ts';
import type { ResourceStore, StoreChange, Write } from '../store/resource-store.ts';

export type GatewayRoutesOptions = {
  readonly store: ResourceStore;
  readonly writer: ControlPlaneIdentity;
  readonly clock: Clock;
  readonly log: Logger;
};

/** Label `kuma.io/managed-by` of derived rows. */
export const MANAGED_BY = 'gateway-api';

const DERIVED = ['MeshHTTPRoute', 'MeshTCPRoute', 'MeshTimeout'];
/** A row that somebody else writes at the same time is looked at again at once; this often. */
const ATTEMPTS = 5;

/** Follows the store until the signal aborts; the leader alone runs it. Throws when the store fails, to be run again. */
export async function runGatewayRoutes(options: GatewayRoutesOptions, signal: AbortSignal): Promise<void> {
  /** Meshes with such routes, or rows made of them: in the others no service and no policy is looked at. */
  let active = new Set<string>();
  for await (const change of options.store.changes(signal)) {
    if (change.kind === 'all' || (change.kind === 'type' && GATEWAY_TYPES.has(change.type)))
      active = await meshesInUse(options.store);
    else if (change.kind === 'keys') for (const { type, mesh } of change.keys) if (GATEWAY_TYPES.has(type)) active.add(mesh);
    for (const mesh of meshesOf(change, active)) if (!(await deriveGatewayRoutes(options, mesh))) active.delete(mesh);
  }
}

/**
 * Updates the derived rows of one mesh to its current routes and services.
 * @returns false when the mesh has neither
 */
export async function deriveGatewayRoutes({ store, writer, clock, log }: GatewayRoutesOptions, mesh: string): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const routes = await listAll(store, [...GATEWAY_TYPES], mesh);
    const derived = (await listAll(store, DERIVED, mesh, { [label.managedBy]: MANAGED_BY })).filter(isDerived);
    if (routes.length === 0 && derived.length === 0) return false;
    const resolve = serviceResolver(await listAll(store, SERVICE_TYPES, mesh), mesh, writer.zone);
    const made = routes.map((route) => derive(route, resolve, writer, clock.now()));
    const wanted = new Map(made.flatMap(({ rows }) => rows).map((row) => [keyText(row.key), row]));
    const found = await store.getMany([...wanted.values()].map(({ key }) => key));
    const stored = new Map(found.map((row) => [keyText(row), row]));
    const gone = derived.filter((row) => !wanted.has(keyText(row)));
    const writes: Write[] = [
      ...made.flatMap((one) => writesOf(one, stored)),
      ...gone.map((row): Write => ({ op: 'delete', key: keyOf(row), expectVersion: row.version })),
    ];
    if (writes.length === 0) return true;
    const outcomes = await store.writeBatch(writes);
    log.info({ mesh, writes: writes.length }, 'derived mesh routes from Gateway API routes');
    if (outcomes.every((outcome) => 'version' in outcome)) return true;
  }
  log.warn({ mesh }, 'others keep writing the derived routes; they are looked at again with the next change');
  return true;
}

type DerivedRow = Write & { readonly op: 'create' };

/** The rows and the status that one route produces. */
type Derived = { readonly route: Resource; readonly rows: readonly DerivedRow[]; readonly status: JsonObject };

function derive(route: Resource, resolve: Resolver, writer: ControlPlaneIdentity, now: Date): Derived {
  const document = documentOf(route);
  const parsed = parseRoute(document, { mesh: route.mesh });
  const context = { former: route.status, now };
  if ('violations' in parsed)
    return { route, rows: [], status: invalidStatus(readableParents(document), parsed.violations, context) };
  const conversion = toMeshRoutes(parsed.route, resolve);
  const rows = conversion.resources.map((resource) => rowOf(resource, route, writer));
  return { route, rows, status: routeStatus(conversion, context) };
}

/**
 * The writes for rows and status that differ. A name that another row holds stays with that row, and the status of the route
 * reports it.
 */
function writesOf({ route, rows, status }: Derived, stored: ReadonlyMap<string, Resource>): Write[] {
  const isTaken = ({ key }: DerivedRow): boolean => {
    const row = stored.get(keyText(key));
    return row !== undefined && !isDeepStrictEqual(row.owner, keyOf(route));
  };
  const taken = rows.find(isTaken);
  const told = taken === undefined ? status : refused(status, taken.key, route.status);
  const writes = rows.filter((row) => !isTaken(row)).flatMap((row) => differing(row, stored.get(keyText(row.key))));
  if (isDeepStrictEqual(told, route.status)) return writes;
  const { labels, spec, version } = route;
  return [...writes, { op: 'update', key: keyOf(route), labels, spec, status: told, expectVersion: version }];
}

function isDerived({ owner }: Resource): boolean {
  return owner !== null && GATEWAY_TYPES.has(owner.type);
}

function rowOf({ type, mesh, name, labels, spec }: DerivedResource, route: Resource, writer: ControlPlaneIdentity): DerivedRow {
  const info = typeOf(type);
  const { storedName, displayName } = namesOf(name, labels[label.namespace] ?? '');
  const completed = completeSpec(type, spec);
  const draft = { displayName, mesh, labels: { ...labels, [label.managedBy]: MANAGED_BY }, spec: completed };
  const key: ResourceKey = { type, mesh, name: storedName };
  return { op: 'create', key, labels: computeLabels(info, draft, writer), spec: completed, status: {}, owner: keyOf(route) };
}

function differing(row: DerivedRow, stored: Resource | undefined): Write[] {
  if (stored === undefined) return [row];
  const { key, labels, spec } = row;
  if (isDeepStrictEqual(stored.labels, labels) && isDeepStrictEqual(stored.spec, spec)) return [];
  return [{ op: 'update', key, labels, spec, expectVersion: stored.version }];
}

/** The route is not accepted while somebody's own row has the name. */
function refused(status: JsonObject, { type, name }: ResourceKey, former: JsonObject): JsonObject {
  const message = `${type} ${JSON.stringify(name)} exists and was not made from this route: rename one of them`;
  const parents = (status['parents'] as JsonObject[]).map((parent) => ({
    ...parent,
    conditions: (parent['conditions'] as JsonObject[]).map((condition) =>
      condition['type'] === 'Accepted' ? { ...condition, status: 'False', reason: 'NameConflict', message } : condition,
    ),
  }));
  const made: JsonObject = { ...status, parents: parents };
  // A reported transition keeps its time. Otherwise each pass would change the status.
  return isDeepStrictEqual(withoutTimes(made), withoutTimes(former)) ? former : made;
}

function withoutTimes(status: JsonObject): unknown {
  return JSON.parse(JSON.stringify(status, (key, value: unknown) => (key === 'lastTransitionTime' ? undefined : value)));
}

async function listAll(store: ResourceStore, types: readonly string[], mesh: string, labels?: Labels): Promise<Resource[]> {
  const lists = types.map((type) => store.list({ type, mesh, ...(labels !== undefined && { labels }) }));
  return (await Promise.all(lists)).flat();
}

async function meshesInUse(store: ResourceStore): Promise<Set<string>> {
  const labels = { [label.managedBy]: MANAGED_BY };
  const [routes, derived] = await Promise.all([
    store.listMeta({ types: [...GATEWAY_TYPES] }),
    store.listMeta({ types: DERIVED, labels }),
  ]);
  return new Set([...routes, ...derived].map(({ mesh }) => mesh));
}

/** The meshes in use that a change may concern. */
function meshesOf(change: StoreChange, active: ReadonlySet<string>): string[] {
  const concerns = (type: string): boolean => GATEWAY_TYPES.has(type) || isServiceType(type) || DERIVED.includes(type);
  if (active.size === 0 || change.kind === 'mark') return [];
  if (change.kind === 'all') return [...active];
  if (change.kind === 'type') return concerns(change.type) ? [...active] : [];
  const meshes = new Set(change.keys.filter(({ type }) => concerns(type)).map(({ mesh }) => mesh));
  return [...meshes].filter((mesh) => active.has(mesh));
}

function keyOf({ type, mesh, name }: ResourceKey): ResourceKey {
  return { type, mesh, name };
}

function keyText({ type, name }: ResourceKey): string {
  return JSON.stringify([type, name]);
}
