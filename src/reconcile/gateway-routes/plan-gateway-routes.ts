// Plans the mesh routes that Gateway API routes derive (D24): rows that the route owns, and its status. Pure.
// Invariant: only differences are written, and a row that was not derived is never changed.
import { isDeepStrictEqual } from 'node:util';
import { parseStoredRoute, readableParents } from '../../gateway-api/parse-route.ts';
import { type Resolver, serviceResolver } from '../../gateway-api/service-resolver.ts';
import { invalidStatus, routeStatus } from '../../gateway-api/route-status.ts';
import { documentOf, GATEWAY_TYPES } from '../../gateway-api/stored-document.ts';
import { type DerivedResource, toMeshRoutes } from '../../gateway-api/to-mesh-routes.ts';
import { computeLabels, type ControlPlaneIdentity } from '../../resource/compute-labels.ts';
import { label, manager } from '../../resource/labels.ts';
import { completeSpec } from '../../validation/complete-spec.ts';
import { namesOf } from '../../resource/stored-name.ts';
import { typeOf } from '../../resource/type-registry.ts';
import { keyOf, keyText, type JsonObject, type Resource, type ResourceKey } from '../../resource/types.ts';
import type { Write } from '../../store/resource-store.ts';

/** Label `kuma.io/managed-by` of derived rows. */
export const MANAGED_BY = manager.gatewayApi;

export const DERIVED = ['MeshHTTPRoute', 'MeshTCPRoute', 'MeshTimeout'];

/** The rows of one mesh, read at one time. */
type GatewayRows = {
  readonly mesh: string;
  /** Rows of the types `GATEWAY_TYPES`. */
  readonly routes: readonly Resource[];
  /** Rows of the types `SERVICE_TYPES`. */
  readonly services: readonly Resource[];
  /** Rows of the types `DERIVED` with the label `MANAGED_BY`. */
  readonly derived: readonly Resource[];
};

/** The rows and the status that each route of a mesh produces. */
export function deriveRoutes({ mesh, routes, services }: GatewayRows, writer: ControlPlaneIdentity, now: Date): Derived[] {
  const resolve = serviceResolver(services, mesh, writer.zone);
  return routes.map((route) => derive(route, resolve, writer, now));
}

/** The writes that make the stored rows equal to the derived ones. @param stored the existing rows among the keys of `made` */
export function planGatewayRoutes(made: readonly Derived[], { derived }: GatewayRows, stored: readonly Resource[]): Write[] {
  const byKey = new Map(stored.map((row) => [keyText(row), row]));
  const wanted = new Set(made.flatMap(({ rows }) => rows.map(({ key }) => keyText(key))));
  const gone = derived.filter((row) => isDerived(row) && !wanted.has(keyText(row)));
  return [
    ...made.flatMap((one) => writesOf(one, byKey)),
    ...gone.map((row): Write => ({ op: 'delete', key: keyOf(row), expectVersion: row.version })),
  ];
}

type DerivedRow = Write & { readonly op: 'create' };

/** The rows and the status that one route produces. */
type Derived = {
  readonly route: Resource;
  readonly rows: readonly DerivedRow[];
  /** @param taken the rows whose name another row has */
  readonly statusWith: (taken: ReadonlySet<DerivedRow>) => JsonObject;
};

function derive(route: Resource, resolve: Resolver, writer: ControlPlaneIdentity, now: Date): Derived {
  const document = documentOf(route);
  const parsed = parseStoredRoute(document, { mesh: route.mesh });
  const context = { former: route.status, now };
  if ('violations' in parsed) {
    const status = invalidStatus(readableParents(document), parsed.violations, context);
    return { route, rows: [], statusWith: () => status };
  }
  const conversion = toMeshRoutes(parsed.route, resolve);
  const byResource = new Map(conversion.resources.map((resource) => [resource, rowOf(resource, route, writer)]));
  const statusWith: Derived['statusWith'] = (taken) => {
    const conflicts = [...byResource].flatMap(([resource, row]) => (taken.has(row) ? [[resource, row.key.name] as const] : []));
    return routeStatus(conversion, context, new Map(conflicts));
  };
  return { route, rows: [...byResource.values()], statusWith };
}

/** The writes for rows and status that differ. A name that another row has stays with that row, and the status of the route reports it. */
function writesOf({ route, rows, statusWith }: Derived, stored: ReadonlyMap<string, Resource>): Write[] {
  const isTaken = ({ key }: DerivedRow): boolean => {
    const row = stored.get(keyText(key));
    return row !== undefined && !isDeepStrictEqual(row.owner, keyOf(route));
  };
  const taken = new Set(rows.filter(isTaken));
  const status = statusWith(taken);
  const writes = rows.filter((row) => !taken.has(row)).flatMap((row) => differing(row, stored.get(keyText(row.key))));
  if (isDeepStrictEqual(status, route.status)) return writes;
  const { labels, spec, version } = route;
  return [...writes, { op: 'update', key: keyOf(route), labels, spec, status, expectVersion: version }];
}

export function isDerived({ owner }: Resource): boolean {
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
