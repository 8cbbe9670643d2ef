// Derives mesh routes from the Gateway API routes of this control plane, again at every change of a route or a referent (D24). Only
// the leader runs it.
import type { ControlPlaneIdentity } from '../../resource/compute-labels.ts';
import { GATEWAY_TYPES } from '../../gateway-api/stored-document.ts';
import { label } from '../../resource/labels.ts';
import { SERVICE_TYPES } from '../../resource/type-registry.ts';
import type { Labels, Resource } from '../../resource/types.ts';
import { FeedFollower, type Following, type Hints } from '../../store/follow-feed.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { DERIVED, deriveRoutes, isDerived, MANAGED_BY, planGatewayRoutes } from './plan-gateway-routes.ts';

type GatewayRoutesOptions = Following & { readonly store: ResourceStore; readonly writer: ControlPlaneIdentity };

const MANAGED = { [label.managedBy]: MANAGED_BY };
/** The number of attempts to write the rows of a mesh while another writer changes them. */
const MAX_ATTEMPTS = 5;

/** Follows the store until the signal aborts. */
export async function runGatewayRoutes(options: GatewayRoutesOptions, signal: AbortSignal): Promise<void> {
  /** Meshes with Gateway API routes or derived rows. In the others no service and no policy is read. */
  let active = new Set<string>();
  const follower = new FeedFollower({ ...options, types: [...GATEWAY_TYPES, ...SERVICE_TYPES, ...DERIVED] });
  const apply = async ({ types, keys }: Hints): Promise<void> => {
    if (types.some((type) => GATEWAY_TYPES.has(type))) active = await meshesInUse(options.store);
    for (const { type, mesh } of keys) if (GATEWAY_TYPES.has(type)) active.add(mesh);
    const meshes = types.length > 0 ? [...active] : [...new Set(keys.map(({ mesh }) => mesh))].filter((mesh) => active.has(mesh));
    for (const mesh of meshes) if (!(await deriveGatewayRoutes(options, mesh))) active.delete(mesh);
  };
  await follower.run(apply, signal);
}

/**
 * Updates the derived rows of one mesh to its current routes and services.
 * @returns false when the mesh has neither
 */
export async function deriveGatewayRoutes({ store, writer, clock, log }: GatewayRoutesOptions, mesh: string): Promise<boolean> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const routes = await listAll(store, [...GATEWAY_TYPES], mesh);
    const derived = await listAll(store, DERIVED, mesh, MANAGED);
    if (routes.length === 0 && !derived.some(isDerived)) return false;
    const rows = { mesh, routes, derived, services: await listAll(store, SERVICE_TYPES, mesh) };
    const made = deriveRoutes(rows, writer, clock.now());
    const stored = await store.getMany(made.flatMap((one) => one.rows.map(({ key }) => key)));
    const writes = planGatewayRoutes(made, rows, stored);
    if (writes.length === 0) return true;
    const outcomes = await store.writeBatch(writes);
    log.info({ mesh, writes: writes.length }, 'derived mesh routes from Gateway API routes');
    if (outcomes.every((outcome) => 'version' in outcome)) return true;
  }
  log.warn({ mesh, attempts: MAX_ATTEMPTS }, 'write conflict on the derived routes; they are derived again with the next change');
  return true;
}

async function listAll(store: ResourceStore, types: readonly string[], mesh: string, labels?: Labels): Promise<Resource[]> {
  const lists = types.map((type) => store.list({ type, mesh, ...(labels !== undefined && { labels }) }));
  return (await Promise.all(lists)).flat();
}

async function meshesInUse(store: ResourceStore): Promise<Set<string>> {
  const [routes, derived] = await Promise.all([
    store.listMeta({ types: [...GATEWAY_TYPES] }),
    store.listMeta({ types: DERIVED, labels: MANAGED }),
  ]);
  return new Set([...routes, ...derived].map(({ mesh }) => mesh));
}
