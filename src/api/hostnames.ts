// The host names that HostnameGenerators give a service, zone by zone (policies 9.5). Pure.
// Invariants: a template that fails, or gives no valid name, gives none and never fails the answer; a name that a zone has given
// to another service is not shown where that is known.
import { hashName } from '../resource/hash-name.ts';
import { renderHostname } from '../resource/hostname-template.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { compareKeys, type Json, type JsonObject, type Resource } from '../resource/types.ts';

const SELECTORS: Readonly<Record<string, string>> = {
  MeshService: 'meshService',
  MeshExternalService: 'meshExternalService',
  MeshMultiZoneService: 'meshMultiZoneService',
};

export type Hostname = { readonly hostname: string; readonly zones: readonly { readonly name: string }[] };

/**
 * @param generators of all zones; one with a zone label counts in that zone alone
 * @param zones where the service is looked at
 * @param computedIn the zone whose reconciler wrote `status`: the own one, on global that of the service
 * @returns in the order of the generators, each name once
 */
export function hostnamesOf(
  service: Resource,
  generators: readonly Resource[],
  zones: readonly string[],
  computedIn: string | undefined = service.labels[label.zone],
): Hostname[] {
  const found = new Map<string, string[]>();
  const given = givenNames(service.status);
  for (const generator of generators.toSorted(compareGenerators)) {
    for (const zone of zones) {
      const home = generator.labels[label.zone];
      if (home !== undefined && home !== zone) continue;
      const seen = seenFrom(service, zone);
      const template = generator.spec['template'];
      if (typeof template !== 'string' || !isSelected(generator.spec, seen)) continue;
      const rendered = renderHostname(template, seen, zone);
      if (!('hostname' in rendered)) continue;
      if (zone === computedIn && given !== null && !given.has(rendered.hostname)) continue;
      const known = found.get(rendered.hostname) ?? [];
      if (!known.includes(zone)) found.set(rendered.hostname, [...known, zone]);
    }
  }
  return [...found].map(([hostname, names]) => ({ hostname, zones: names.map((name) => ({ name })) }));
}

/** The names that the service won, null before they were computed (policies 9.5, collisions). */
function givenNames({ hostnameGenerators, addresses }: JsonObject): Set<Json | undefined> | null {
  if (!Array.isArray(hostnameGenerators) || hostnameGenerators.length === 0) return null;
  return new Set((Array.isArray(addresses) ? addresses : []).map((address) => asObject(address)['hostname']));
}

type Seen = Pick<Resource, 'type' | 'mesh' | 'name' | 'labels'>;

/** The service as the zone stores it: its own under origin `zone`, what came by KDS under origin `global` and a hashed name. */
function seenFrom(service: Resource, zone: string): Seen {
  const home = service.labels[label.zone];
  const isOwn = home === zone || (home === undefined && service.labels[label.origin] === 'zone');
  const displayName = displayNameOf(service);
  const namespace = service.labels[label.namespace];
  const local = namespace === undefined ? displayName : `${displayName}.${namespace}`;
  const hashed = hashName({ mesh: service.mesh, name: displayName, zone: home, namespace });
  const labels = { ...service.labels, [label.origin]: isOwn ? 'zone' : 'global' };
  return { type: service.type, mesh: service.mesh, name: isOwn ? local : hashed, labels };
}

function isSelected(spec: JsonObject, { type, labels }: Seen): boolean {
  const section = asObject(spec['selector'])[SELECTORS[type] ?? ''];
  if (section === undefined) return false;
  return Object.entries(asObject(asObject(section)['matchLabels'])).every(([key, value]) => labels[key] === value);
}

/** Those of the zone first, then the oldest, then by name. */
function compareGenerators(a: Resource, b: Resource): number {
  const rank = ({ labels }: Resource): number => (labels[label.origin] === 'zone' ? 0 : 1);
  return rank(a) - rank(b) || a.creationTime.getTime() - b.creationTime.getTime() || compareKeys(a, b);
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}
