// The host names that HostnameGenerators give a service, and the zone of each.
// Invariants: a template that fails, or renders an invalid name, gives no name and never fails the answer; a name that a zone is
// known to give to another service is omitted. Pure.
import { renderHostname } from '../resource/templates/hostname-template.ts';
import { asStoredIn, originOf, zoneNamed } from '../resource/ownership.ts';
import { compareKeys, type Json, type JsonObject, type Resource } from '../resource/types.ts';
import { objectOf } from '../resource/read-json.ts';

const SELECTORS: Readonly<Record<string, string>> = {
  MeshService: 'meshService',
  MeshExternalService: 'meshExternalService',
  MeshMultiZoneService: 'meshMultiZoneService',
};

type Hostname = { readonly hostname: string; readonly zones: readonly { readonly name: string }[] };

/** This name stands for any zone other than the zone of the service. */
const ELSEWHERE = '';

/**
 * @param generators of all zones; one with a zone label counts only in that zone
 * @param at `own` is the answering zone, null on global; `zones` are the zones that global knows
 * @returns each name once, in the order of the generators. `zones` of a name is the zone of the service; for a service without a
 *   zone, the zones with the name
 */
export function hostnamesOf(
  service: Resource,
  generators: readonly Resource[],
  at: { readonly own: string | null; readonly zones: readonly string[] },
): Hostname[] {
  const found = new Map<string, Set<string>>();
  const given = givenNames(service.status);
  const serviceZone = zoneNamed(service.labels);
  // The reconciler of this zone wrote the status.
  const computedIn = at.own ?? serviceZone;
  for (const generator of generators.toSorted(compareGenerators)) {
    const template = generator.spec['template'];
    if (typeof template !== 'string') continue;
    for (const zone of zonesOf(generator, serviceZone, at)) {
      const seen = asStoredIn(service, zone);
      if (!isSelected(generator.spec, seen)) continue;
      const rendered = renderHostname(template, seen, zone);
      if (!('hostname' in rendered)) continue;
      if (zone === computedIn && given !== null && !given.has(rendered.hostname)) continue;
      const known = found.get(rendered.hostname) ?? new Set();
      found.set(rendered.hostname, known.add(serviceZone ?? zone));
    }
  }
  return [...found].map(([hostname, names]) => ({
    hostname,
    zones: [...names].filter((name) => name !== ELSEWHERE).map((name) => ({ name })),
  }));
}

/** The zones to compute names for: the names are the same in every zone except the service's own. */
function zonesOf(
  generator: Resource,
  serviceZone: string | undefined,
  { own, zones }: { readonly own: string | null; readonly zones: readonly string[] },
): readonly string[] {
  const home = zoneNamed(generator.labels);
  if (own !== null) return home === undefined || home === own ? [own] : [];
  if (home !== undefined) return [home];
  if (serviceZone !== undefined) return [serviceZone, ELSEWHERE];
  return zones.length > 0 ? zones : [ELSEWHERE];
}

/** The names that the service has won; null before they were computed (policies 9.5, collisions). */
function givenNames({ hostnameGenerators, addresses }: JsonObject): Set<Json | undefined> | null {
  if (!Array.isArray(hostnameGenerators) || hostnameGenerators.length === 0) return null;
  return new Set((Array.isArray(addresses) ? addresses : []).map((address) => objectOf(address)['hostname']));
}

function isSelected(spec: JsonObject, { type, labels }: Pick<Resource, 'type' | 'labels'>): boolean {
  const section = objectOf(spec['selector'])[SELECTORS[type] ?? ''];
  if (section === undefined) return false;
  return Object.entries(objectOf(objectOf(section)['matchLabels'])).every(([key, value]) => labels[key] === value);
}

/** Generators of the zone first, then the oldest, then by name. */
function compareGenerators(a: Resource, b: Resource): number {
  const rank = ({ labels }: Resource): number => (originOf(labels) === 'zone' ? 0 : 1);
  return rank(a) - rank(b) || a.creationTime.getTime() - b.creationTime.getTime() || compareKeys(a, b);
}
