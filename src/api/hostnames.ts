// The host names that HostnameGenerators give a service, zone by zone (policies 9.5). Pure.
// Invariant: a template that fails, or gives no valid name, gives none; it never fails the answer.
import { hashName } from '../resource/hash-name.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { compareKeys, type Json, type JsonObject, type Labels, type Resource } from '../resource/types.ts';

const HOST = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
const ACTION = /\{\{-?\s*(?:\.(\w+)|label\s+"([^"]*)")\s*-?\}\}/g;
const SELECTORS: Readonly<Record<string, string>> = {
  MeshService: 'meshService',
  MeshExternalService: 'meshExternalService',
  MeshMultiZoneService: 'meshMultiZoneService',
};

export type Hostname = { readonly hostname: string; readonly zones: readonly { readonly name: string }[] };

/**
 * @param generators of all zones; one with a zone label counts in that zone alone
 * @param zones where the service is looked at
 * @returns in the order of the generators, each name once
 */
export function hostnamesOf(service: Resource, generators: readonly Resource[], zones: readonly string[]): Hostname[] {
  const found = new Map<string, string[]>();
  for (const generator of generators.toSorted(compareGenerators)) {
    for (const zone of zones) {
      const home = generator.labels[label.zone];
      if (home !== undefined && home !== zone) continue;
      const seen = seenFrom(service, zone);
      const hostname = isSelected(generator.spec, seen) ? evaluate(generator.spec['template'], seen, zone) : null;
      if (hostname === null) continue;
      const known = found.get(hostname) ?? [];
      if (!known.includes(zone)) found.set(hostname, [...known, zone]);
    }
  }
  return [...found].map(([hostname, names]) => ({ hostname, zones: names.map((name) => ({ name })) }));
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

function evaluate(template: Json | undefined, seen: Seen, zone: string): string | null {
  if (typeof template !== 'string') return null;
  let failed = false;
  const values = valuesOf(seen, zone);
  const text = template.replace(ACTION, (_action, field: string | undefined, key: string | undefined) => {
    const value = field !== undefined ? values.get(field) : ownLabel(seen.labels, key ?? '');
    if (value === undefined) failed = true;
    return value ?? '';
  });
  return failed || !HOST.test(text) ? null : text;
}

function valuesOf(seen: Seen, zone: string): Map<string, string> {
  return new Map([
    ['Name', seen.name],
    ['DisplayName', displayNameOf(seen)],
    ['Namespace', seen.labels[label.namespace] ?? ''],
    ['Mesh', seen.mesh],
    ['Zone', seen.labels[label.zone] ?? zone],
  ]);
}

function ownLabel(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** Those of the zone first, then the oldest, then by name. */
function compareGenerators(a: Resource, b: Resource): number {
  const rank = ({ labels }: Resource): number => (labels[label.origin] === 'zone' ? 0 : 1);
  return rank(a) - rank(b) || a.creationTime.getTime() - b.creationTime.getTime() || compareKeys(a, b);
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}
