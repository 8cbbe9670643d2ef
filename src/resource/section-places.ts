// The places where the sections of a Dataplane listen, and where each of them was open last. The status of the row keeps the
// second: a PUT leaves it, so clients stay with a place that is open until the Envoy has opened the one that the PUT asks for.
// Pure.
import { isDeepStrictEqual } from 'node:util';
import { isObject, numberOf, objectOf, objectsOf, textOf } from './read-json.ts';
import type { JsonObject, Resource } from './types.ts';

/** An address and a port. */
export type Place = { readonly address: string; readonly port: number };

/** The place of an inbound or a zone listener. */
export type SectionPlace = {
  /** The name is unique in its Dataplane, and the same after a move. */
  readonly section: string;
  /** The place where its listener is bound. */
  readonly bound: Place;
  /** The place where others reach it; null for an ingress without an advertised address. */
  readonly reach: Place | null;
};

type Row = Pick<Resource, 'spec'> & Partial<Pick<Resource, 'status'>>;

const OPENED = 'opened';
/** The number of places of one section that are kept: readers hear of its last place and of its listeners in any order. */
const KEPT = 2;

/** The inbounds in their order. */
export function inboundPlaces({ spec }: Pick<Resource, 'spec'>): SectionPlace[] {
  const networking = objectOf(spec['networking']);
  const common = textOf(networking['address']);
  const given = objectsOf(networking['inbound']).map((inbound) => {
    const port = numberOf(inbound['port']);
    const own = textOf(inbound['address']);
    return {
      section: `inbound ${textOf(inbound['name']) || String(port)}`,
      bound: { address: own || common, port },
      reach: { address: own || textOf(networking['advertisedAddress']) || common, port },
    };
  });
  return numbered(given);
}

/** All sections of a Dataplane. */
export function sectionPlaces(row: Pick<Resource, 'spec'>): SectionPlace[] {
  const networking = objectOf(row.spec['networking']);
  const { zoneIngress, zoneEgress } = networking;
  const bound = ({ address, port }: JsonObject): Place => ({
    address: textOf(address) || textOf(networking['address']),
    port: numberOf(port),
  });
  const listeners = objectsOf(networking['listeners']).map((listener) => {
    const at = bound(listener);
    return { section: `listener ${textOf(listener['name']) || String(at.port)}`, bound: at, reach: at };
  });
  const zone: SectionPlace[] = numbered(listeners);
  if (isObject(zoneIngress)) zone.push({ section: INGRESS, bound: bound(zoneIngress), reach: advertisedBy(zoneIngress) });
  if (isObject(zoneEgress)) zone.push({ section: EGRESS, bound: bound(zoneEgress), reach: bound(zoneEgress) });
  return [...inboundPlaces(row), ...zone];
}

export function isInboundPlace({ section }: SectionPlace): boolean {
  return section.startsWith('inbound ');
}

const INGRESS = 'zoneIngress';
export const EGRESS = 'zoneEgress';

/** There is no fallback to `networking.advertisedAddress` (MADR 095, D17). */
function advertisedBy({ advertisedAddress, advertisedPort }: JsonObject): Place | null {
  const place = { address: textOf(advertisedAddress), port: numberOf(advertisedPort) };
  return place.address === '' || place.port === 0 ? null : place;
}

/** Sections with the same name get a number, in their order. */
function numbered(places: readonly SectionPlace[]): SectionPlace[] {
  const counts = new Map<string, number>();
  return places.map((place) => {
    const count = (counts.get(place.section) ?? 0) + 1;
    counts.set(place.section, count);
    return count === 1 ? place : { ...place, section: `${place.section} ${String(count)}` };
  });
}

/** The places where the sections of a Dataplane were open, the last of each section first; null if no Envoy has reported them. */
export function openedIn({ [OPENED]: opened }: JsonObject): readonly SectionPlace[] | null {
  if (!Array.isArray(opened)) return null;
  return opened.map((given) => {
    const { section, bound, reach } = objectOf(given);
    return { section: textOf(section), bound: readPlace(bound), reach: isObject(reach) ? readPlace(reach) : null };
  });
}

function readPlace(given: unknown): Place {
  const { address, port } = isObject(given) ? given : {};
  return { address: textOf(address), port: numberOf(port) };
}

/** The status of a row whose Envoy has opened these places of its sections. The others keep their last ones. */
export function withOpened({ spec, status = {} }: Row, open: readonly SectionPlace[]): JsonObject {
  return { ...status, ...openedStatus(afterOpening(openedIn(status) ?? [], sectionPlaces({ spec }), open)) };
}

/** The part of a status with the places where sections were open. */
export function openedStatus(places: readonly SectionPlace[]): JsonObject {
  return { [OPENED]: places.map(printed) };
}

/** The places after an opening. @param sections all present sections of the Dataplane @param open those of them that are open */
export function afterOpening(
  before: readonly SectionPlace[],
  sections: readonly SectionPlace[],
  open: readonly SectionPlace[],
): SectionPlace[] {
  return sections.flatMap(({ section }) => {
    const last = before.filter((place) => place.section === section);
    const next = open.find((place) => place.section === section);
    if (next === undefined) return last;
    return [next, ...last.filter(({ bound }) => !isDeepStrictEqual(bound, next.bound))].slice(0, KEPT);
  });
}

function printed({ section, bound, reach }: SectionPlace): JsonObject {
  return { section, bound: { ...bound }, reach: reach === null ? null : { ...reach } };
}

/** The place where clients reach a section now: at its place if it is open, else where it was open last; null before that. */
export function reachOf(wanted: SectionPlace, opened: readonly SectionPlace[] | null): Place | null {
  if (opened === null) return wanted.reach;
  const last = lastOf(opened);
  if (last.some(({ bound }) => isDeepStrictEqual(bound, wanted.bound))) return wanted.reach;
  return last.find(({ section }) => section === wanted.section)?.reach ?? null;
}

/** The last place of each section. */
export function lastOf(opened: readonly SectionPlace[]): SectionPlace[] {
  return opened.filter(({ section }, at) => opened.findIndex((other) => other.section === section) === at);
}

/** The places that a Dataplane has left, among those of `openedIn`. */
export function leftPlaces(row: Row): SectionPlace[] {
  const sections = sectionPlaces(row);
  return (openedIn(row.status ?? {}) ?? []).filter(
    (place) => !sections.some(({ bound }) => isDeepStrictEqual(bound, place.bound)),
  );
}

/** A value that differs where clients, or the proxy itself, do something else with its places. */
export function movesOf(row: Row): unknown {
  const opened = openedIn(row.status ?? {});
  if (opened === null) return [[], []];
  const moving = sectionPlaces(row).flatMap((wanted) => {
    const reach = reachOf(wanted, opened);
    return isDeepStrictEqual(reach, wanted.reach) ? [] : [[wanted.section, reach]];
  });
  return [moving, leftPlaces(row)];
}
