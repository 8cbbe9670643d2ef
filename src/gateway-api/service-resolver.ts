// The resolver over stored resources: Service means MeshService, group `kuma.io` the mesh kind of that name (D8, D24).
import { displayNameOf, label } from '../resource/labels.ts';
import type { Json, JsonObject, Labels } from '../resource/types.ts';
import { isService, MESH_GROUP, type ObjectRef } from './gateway-route.ts';
import type { Referent, Resolver, ServicePort } from './resolver.ts';
import { isObject } from '../resource/read-json.ts';

/** The part of a stored resource that is asked for; a `Resource` fits. */
export type StoredService = {
  readonly type: string;
  readonly mesh: string;
  readonly name: string;
  readonly labels: Labels;
  readonly spec: JsonObject;
  readonly creationTime?: Date;
};

const KINDS = ['MeshService', 'MeshExternalService', 'MeshMultiZoneService'] as const;

/**
 * Resolves within one mesh: first among the services of the own zone, then among all; the oldest wins, then the smallest name.
 * A namespace must be equal; a reference without one, from a route without one, means any.
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
    const own = fitting.filter((service) => zone !== null && service.labels[label.zone] === zone);
    const [first] = (own.length > 0 ? own : fitting).toSorted(compareAge);
    return first === undefined ? { missing: missingReason(named) } : { found: referentOf(first, kind) };
  };
}

function kindOf(ref: ObjectRef): Referent['kind'] | undefined {
  if (isService(ref)) return 'MeshService';
  return ref.group === MESH_GROUP ? KINDS.find((kind) => kind === ref.kind) : undefined;
}

/** A resource has labels where Kubernetes has annotations too, so the annotation is read there. */
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
  return (a.creationTime?.getTime() ?? 0) - (b.creationTime?.getTime() ?? 0) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}

function keyOf(kind: string, name: string): string {
  return JSON.stringify([kind, name]);
}
