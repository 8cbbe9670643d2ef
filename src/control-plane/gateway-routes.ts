// Derives mesh routes from the Gateway API routes of this control plane, again whenever a route or a referent appears, changes
// or goes (decisions D24). In: rows HTTPRoute, TCPRoute and services. Out: rows that the route owns, and its status.
// Invariant: only what differs is written, and a row that was not derived is never touched.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { parseRoute } from '../gateway-api/parse-route.ts';
import type { Resolver } from '../gateway-api/resolver.ts';
import { routeStatus } from '../gateway-api/route-status.ts';
import { serviceResolver } from '../gateway-api/service-resolver.ts';
import { documentOf, GATEWAY_TYPES } from '../gateway-api/stored-document.ts';
import { toMeshRoutes, type DerivedResource } from '../gateway-api/to-mesh-routes.ts';
import { computeLabels, type Writer } from '../resource/compute-labels.ts';
import { label } from '../resource/labels.ts';
import { storedNameOf } from '../resource/stored-name.ts';
import { typeOf } from '../resource/type-registry.ts';
import type { JsonObject, Resource, ResourceKey } from '../resource/types.ts';
import type { ResourceStore, StoreChange, Write } from '../store/resource-store.ts';

export type GatewayRoutesOptions = {
  readonly store: ResourceStore;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly log: Logger;
};

/** Label `kuma.io/managed-by` of derived rows. */
export const MANAGED_BY = 'gateway-api';

const SERVICES = ['MeshService', 'MeshExternalService', 'MeshMultiZoneService'];
const DERIVED = ['MeshHTTPRoute', 'MeshTCPRoute', 'MeshTimeout'];
/** A row that somebody else writes at the same time is looked at again at once; this often. */
const ATTEMPTS = 5;

/** Follows the store until the signal aborts; the leader alone runs it. Throws when the store fails, to be run again. */
export async function runGatewayRoutes(options: GatewayRoutesOptions, signal: AbortSignal): Promise<void> {
  for await (const change of options.store.changes(signal)) {
    const meshes = await meshesOf(options.store, change);
    for (const mesh of meshes) await deriveGatewayRoutes(options, mesh);
  }
}

/** Brings the derived rows of one mesh in step with its routes and services as they stand now. */
export async function deriveGatewayRoutes({ store, writer, clock, log }: GatewayRoutesOptions, mesh: string): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const lists = [...GATEWAY_TYPES].map((type) => store.list({ type, mesh }));
    const routes = (await Promise.all(lists)).flat();
    const derived = await listAll(store, DERIVED, mesh);
    const isDerived = (row: Resource): boolean =>
      row.labels[label.managedBy] === MANAGED_BY && GATEWAY_TYPES.has(row.owner?.type ?? '');
    if (routes.length === 0 && !derived.some(isDerived)) return;
    const resolve = serviceResolver(await listAll(store, SERVICES, mesh), mesh, writer.zone);
    const stored = new Map(derived.map((row) => [keyText(row), row]));
    const writes: Write[] = [];
    const wanted = new Set<string>();
    for (const route of routes) {
      const { rows, status } = derive(route, resolve, stored, writer, clock.now());
      for (const row of rows) wanted.add(keyText(row.key));
      writes.push(...rows.flatMap((row) => differing(row, stored.get(keyText(row.key)))));
      if (!isDeepStrictEqual(status, route.status)) {
        const { labels, spec, version } = route;
        writes.push({ op: 'update', key: keyOf(route), labels, spec, status, expectVersion: version });
      }
    }
    for (const row of derived)
      if (isDerived(row) && !wanted.has(keyText(row))) writes.push({ op: 'delete', key: keyOf(row), expectVersion: row.version });
    if (writes.length === 0) return;
    const outcomes = await store.writeBatch(writes);
    log.info({ mesh, writes: writes.length }, 'derived mesh routes from Gateway API routes');
    if (outcomes.every((outcome) => 'version' in outcome)) return;
  }
  log.warn({ mesh }, 'others keep writing the derived routes; they are looked at again with the next change');
}

type DerivedRow = Write & { readonly op: 'create' };

/** What one route makes, and what its author is told. A name that another row has is left to that row. */
function derive(
  route: Resource,
  resolve: Resolver,
  stored: ReadonlyMap<string, Resource>,
  writer: Writer,
  now: Date,
): { rows: DerivedRow[]; status: JsonObject } {
  const parsed = parseRoute(documentOf(route), { mesh: route.mesh });
  // Checked when it was written; a row that came another way says so in its status.
  if ('violations' in parsed)
    return { rows: [], status: { parents: [], invalid: parsed.violations.map(({ field, reason }) => `${field}: ${reason}`) } };
  const { resources, resolved } = toMeshRoutes(parsed.route, resolve);
  const rows = resources.map((resource) => rowOf(resource, route, writer));
  const isTaken = ({ key }: DerivedRow): boolean => {
    const row = stored.get(keyText(key));
    return row !== undefined && !isDeepStrictEqual(row.owner, keyOf(route));
  };
  const taken = rows.find(isTaken);
  const former = route.status;
  const status = routeStatus(resolved, { former, now, generation: 1 });
  return { rows: rows.filter((row) => !isTaken(row)), status: taken === undefined ? status : refused(status, taken.key, former) };
}

function rowOf({ type, mesh, name, labels, spec }: DerivedResource, route: Resource, writer: Writer): DerivedRow {
  const info = typeOf(type);
  const { storedName, displayName } = storedNameOf(name, labels[label.namespace]);
  const draft = { displayName, mesh, labels: { ...labels, [label.managedBy]: MANAGED_BY }, spec };
  const key: ResourceKey = { type, mesh, name: storedName };
  return { op: 'create', key, labels: computeLabels(info, draft, writer), spec, status: {}, owner: keyOf(route) };
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
  // The time of a transition that was told before stays, or each look would be a change.
  return isDeepStrictEqual(withoutTimes(made), withoutTimes(former)) ? former : made;
}

function withoutTimes(status: JsonObject): unknown {
  return JSON.parse(JSON.stringify(status, (key, value: unknown) => (key === 'lastTransitionTime' ? undefined : value)));
}

async function listAll(store: ResourceStore, types: readonly string[], mesh: string): Promise<Resource[]> {
  return (await Promise.all(types.map((type) => store.list({ type, mesh })))).flat();
}

/** The meshes that a change may concern. */
async function meshesOf(store: ResourceStore, change: StoreChange): Promise<Set<string>> {
  const concerns = (type: string): boolean => GATEWAY_TYPES.has(type) || SERVICES.includes(type) || DERIVED.includes(type);
  if (change.kind === 'mark') return new Set();
  if (change.kind === 'keys') return new Set(change.keys.filter(({ type }) => concerns(type)).map(({ mesh }) => mesh));
  if (change.kind === 'type' && !concerns(change.type)) return new Set();
  return new Set((await store.list({ type: 'Mesh' })).map(({ name }) => name));
}

function keyOf({ type, mesh, name }: ResourceKey): ResourceKey {
  return { type, mesh, name };
}

function keyText({ type, name }: ResourceKey): string {
  return JSON.stringify([type, name]);
}
