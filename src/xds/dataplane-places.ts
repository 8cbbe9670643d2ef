// The places of a Dataplane as its Envoy knows them: by the names of listeners. Pure.
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { zoneNamed } from '../resource/ownership.ts';
import type { RowVersion } from '../resource/types.ts';
import { isInboundPlace, lastOf, leftPlaces, openedIn, sectionPlaces, type SectionPlace } from '../resource/section-places.ts';
import { placeOf } from '../resource/service-reach.ts';
import { placeText } from '../resource/zone-listeners.ts';
import { placeName } from './listener-place.ts';

export type DataplanePlaces = {
  /** The version of its row that says all of this. A later one may say the same. */
  readonly row: RowVersion;
  readonly sections: readonly SectionPlace[];
  /** Where its sections were open last, as its row says; null: it says nothing. */
  readonly opened: readonly SectionPlace[] | null;
  /** Those of `opened` that it has left, by the names of their listeners. */
  readonly left: ReadonlyMap<string, SectionPlace>;
};

const NONE: ReadonlyMap<string, SectionPlace> = new Map();
const NO_NAMES: ReadonlySet<string> = new Set();

export const NO_PLACES: DataplanePlaces = {
  row: { version: 0, creationTime: new Date(0) },
  sections: [],
  opened: null,
  left: NONE,
};

export function dataplanePlaces({ resource }: Pick<DataplaneProxy, 'resource'>): DataplanePlaces {
  const left = leftPlaces(resource).map((place) => [listenerAt(place), place] as const);
  const { version, creationTime, status } = resource;
  return {
    row: { version, creationTime },
    sections: sectionPlaces(resource),
    opened: openedIn(status),
    left: left.length === 0 ? NONE : new Map(left),
  };
}

/** The name of the listener of a section. */
export function listenerAt({ bound }: SectionPlace): string {
  return placeName(bound.address, bound.port);
}

/**
 * The listeners of left places that clients still have: those that were open last, and zone listeners whose address the zone publishes.
 * @param zone of the proxy
 */
export function keptListeners(index: MeshIndex, { sections, opened, left }: DataplanePlaces, zone: string): ReadonlySet<string> {
  if (left.size === 0) return NO_NAMES;
  const kept = new Set<string>();
  const last = lastOf(opened ?? []);
  let published: ReadonlySet<string> | null = null;
  for (const [name, place] of left) {
    const isLast = last.includes(place) && sections.some(({ section }) => section === place.section);
    if (isLast) kept.add(name);
    if (isLast || isInboundPlace(place) || place.reach === null) continue;
    published ??= publishedPlaces(index, zone);
    if (published.has(placeText(place.reach))) kept.add(name);
  }
  return kept;
}

/** Where the zone says that its ingresses and its egress are. */
function publishedPlaces(index: MeshIndex, zone: string): Set<string> {
  const addresses = [...index.resources('MeshZoneAddress')].filter(({ labels }) => zoneNamed(labels) === zone);
  const places = [
    ...addresses.map(({ spec }) => placeOf(spec)),
    ...[...index.resources('MeshExternalService')].map(({ status }) => placeOf(status['zoneEgress'])),
  ];
  return new Set(places.flatMap((place) => (place === null ? [] : [placeText(place)])));
}
