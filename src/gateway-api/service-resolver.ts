// Resolves a reference of a route to a service of the mesh, from stored resources: Service means MeshService, and group `kuma.io` the
// mesh kind of that name (D8, D24).
import type { Json, Labels, Resource } from '../resource/types.ts';
import { isService, MESH_GROUP, type ObjectRef } from './gateway-route.ts';
import { compareText } from '../base/compare-text.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { zoneNamed } from '../resource/ownership.ts';
import { isObject } from '../resource/read-json.ts';
import { SERVICE_TYPES } from '../resource/type-registry.ts';

export type ServicePort = {
  readonly port: number;
  /** The section; a port without a name has its number as section. */
  readonly name?: string | undefined;
  readonly appProtocol?: string | undefined;
};

/** A service of the mesh that a reference was found to name. */
export type Referent = {
  readonly kind: 'MeshService' | 'MeshExternalService' | 'MeshMultiZoneService';
  /** The display name. */
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly ports: readonly ServicePort[];
  readonly annotations?: Labels | undefined;
};

/**
 * `found`, or the reason for people: `missing` may appear later (D24), `foreign` is of a kind that this control plane does not
 * resolve (GEP-718 «Support: Custom»).
 */
type Resolution = { readonly found: Referent } | { readonly missing: string } | { readonly foreign: string };

export type Resolver = (ref: ObjectRef) => Resolution;

/** The section of a port: its name, else its number as text (policies 1.4). */
export function sectionOf(port: ServicePort): string {
  return port.name === undefined || port.name === '' ? String(port.port) : port.name;
}

/** `80 (http), 9090`: for messages to people. */
export function describePorts(referent: Referent): string {
  const ports = referent.ports.map((port) => (port.name ? `${String(port.port)} (${port.name})` : String(port.port)));
  return ports.length === 0 ? 'none' : ports.join(', ');
}

/** The part of a stored resource that the resolver reads. */
export type StoredService = Pick<Resource, 'type' | 'mesh' | 'name' | 'labels' | 'spec'> &
  Partial<Pick<Resource, 'creationTime'>>;

/**
 * Resolves within one mesh: first among the services of the route's zone, then among all; the oldest wins, then the smallest name.
 * Namespaces must be equal; if neither the reference nor the route has a namespace, any service matches.
 * @param zone the zone of the route, null on global
 */
export function serviceResolver(services: readonly StoredService[], mesh: string, zone: string | null): Resolver {
  const byName = new Map<string, StoredService[]>();
  for (const service of services.filter((service) => service.mesh === mesh)) {
    const key = keyOf(service.type, displayNameOf(service));
    const same = byName.get(key);
    if (same === undefined) byName.set(key, [service]);
    else same.push(service);
  }
  return (ref) => {
    const kind = kindOf(ref);
    if (kind === undefined)
      return { foreign: `nothing here resolves the kind ${ref.group === '' ? ref.kind : `${ref.kind}.${ref.group}`}` };
    const named = byName.get(keyOf(kind, ref.name)) ?? [];
    const fitting = named.filter((service) => ref.namespace === undefined || service.labels[label.namespace] === ref.namespace);
    const own = fitting.filter((service) => zone !== null && zoneNamed(service.labels) === zone);
    const [first] = (own.length > 0 ? own : fitting).toSorted(compareAge);
    return first === undefined ? { missing: missingReason(named) } : { found: referentOf(first, kind) };
  };
}

function kindOf(ref: ObjectRef): Referent['kind'] | undefined {
  if (isService(ref)) return 'MeshService';
  return ref.group === MESH_GROUP ? SERVICE_TYPES.find((kind) => kind === ref.kind) : undefined;
}

/** A stored resource keeps its Kubernetes annotations among its labels. */
function referentOf({ name, labels, spec }: StoredService, kind: Referent['kind']): Referent {
  const match = isObject(spec['match']) ? spec['match'] : {};
  const ports = kind === 'MeshExternalService' ? [{ ...match, appProtocol: match['protocol'] ?? null }] : spec['ports'];
  return {
    kind,
    name: displayNameOf({ name, labels }),
    namespace: labels[label.namespace] || undefined,
    ports: Array.isArray(ports) ? ports.flatMap(portOf) : [],
    annotations: labels,
  };
}

function portOf(port: Json): ServicePort[] {
  if (!isObject(port) || typeof port['port'] !== 'number') return [];
  const { name, appProtocol } = port;
  return [
    {
      port: port['port'],
      ...(typeof name === 'string' && { name }),
      ...(typeof appProtocol === 'string' && { appProtocol }),
    },
  ];
}

function missingReason(named: readonly StoredService[]): string {
  if (named.length === 0) return 'this mesh has nothing of that name';
  const places = named.map(({ labels }) => labels[label.namespace]);
  const shown = places.map((place) => (place ? `in namespace ${JSON.stringify(place)}` : 'without a namespace'));
  return `this mesh has one of that name ${[...new Set(shown)].toSorted().join(' and ')} alone`;
}

function compareAge(a: StoredService, b: StoredService): number {
  return (a.creationTime?.getTime() ?? 0) - (b.creationTime?.getTime() ?? 0) || compareText(a.name, b.name);
}

function keyOf(kind: string, name: string): string {
  return JSON.stringify([kind, name]);
}
