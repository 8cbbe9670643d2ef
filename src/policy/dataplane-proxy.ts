// The facts of a Dataplane for matching: its place, its labels and the sections that a policy can select (policies 1.7, MADR 095).
import { kriOf } from '../resource/kri.ts';
import { displayNameOf } from '../resource/labels.ts';
import { originOf } from '../resource/ownership.ts';
import type { JsonObject, Labels, Resource } from '../resource/types.ts';
import { placeOf, type Place } from './parse-policy.ts';
import { isObject, numberOf, objectOf, objectsOf, textMapOf, textOf } from '../resource/read-json.ts';

export type ZoneListenerKind = 'ZoneIngress' | 'ZoneEgress';

/** An inbound, or the listener of a zone proxy. */
export type Section = {
  readonly kind: 'Inbound' | ZoneListenerKind;
  /** The value that `sectionName` selects: the name, else the port as text. */
  readonly section: string;
  /** As written, `''` when it has none. */
  readonly name: string;
  readonly port: number;
  /** The inbound's protocol, else its tag `kuma.io/protocol`, else `''`, as for a MeshService. */
  readonly protocol: string;
  readonly tags: Labels;
};

export type DataplaneProxy = Place & {
  readonly resource: Resource;
  readonly kri: string;
  readonly displayName: string;
  readonly origin: string;
  readonly labels: Labels;
  readonly sections: readonly Section[];
  /** Tags of a delegated gateway, null for other proxies. */
  readonly gatewayTags: Labels | null;
  /** Labels and tags, each pair once. The policy index is searched for each pair. */
  readonly pairs: readonly (readonly [string, string])[];
};

export function parseDataplane(resource: Resource): DataplaneProxy {
  const networking = objectOf(resource.spec['networking']);
  const gateway = networking['gateway'];
  const gatewayTags = isObject(gateway) ? textMapOf(gateway['tags']) : null;
  const sections = sectionsOf(networking);
  return {
    ...placeOf(resource),
    resource,
    kri: kriOf(resource) ?? '',
    displayName: displayNameOf(resource),
    origin: originOf(resource.labels) ?? '',
    labels: resource.labels,
    sections,
    gatewayTags,
    pairs: uniquePairs([resource.labels, gatewayTags ?? {}, ...sections.map(({ tags }) => tags)]),
  };
}

function sectionsOf(networking: JsonObject): Section[] {
  return [
    ...objectsOf(networking['inbound']).map((inbound) => sectionOf('Inbound', inbound)),
    ...objectsOf(networking['listeners']).map((listener) =>
      sectionOf(listener['type'] === 'ZoneEgress' ? 'ZoneEgress' : 'ZoneIngress', listener),
    ),
    ...(isObject(networking['zoneIngress']) ? [sectionOf('ZoneIngress', networking['zoneIngress'])] : []),
    ...(isObject(networking['zoneEgress']) ? [sectionOf('ZoneEgress', networking['zoneEgress'])] : []),
  ];
}

function uniquePairs(maps: readonly Labels[]): [string, string][] {
  const seen = new Map<string, Set<string>>();
  for (const [key, value] of maps.flatMap((map) => Object.entries(map)))
    seen.set(key, (seen.get(key) ?? new Set<string>()).add(value));
  return [...seen].flatMap(([key, values]) => [...values].map((value): [string, string] => [key, value]));
}

function sectionOf(kind: Section['kind'], given: JsonObject): Section {
  const name = textOf(given['name']);
  const port = numberOf(given['port']);
  const tags = textMapOf(given['tags']);
  return {
    kind,
    name,
    section: name === '' ? String(port) : name,
    port,
    protocol: textOf(given['protocol']) || (tags['kuma.io/protocol'] ?? ''),
    tags,
  };
}
