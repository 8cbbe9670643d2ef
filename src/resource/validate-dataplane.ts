// The violations of a Dataplane (MADR 095, kds-wire 6.2, policies 9.1, D17 to D19). Invariant: the checks of Kuma's fields are those
// of Kuma, so that no Dataplane of an old peer is lost; the checks of Meridian's zone sections are strict.
import { isIP } from 'node:net';
import type { Violation } from '../base/errors.ts';
import type { Json, JsonObject } from './types.ts';
import { isObject } from './read-json.ts';

const DNS_NAME = /^(?=.{1,253}$)[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*\.?$/;
/** `256.1.1.1` and `10.0.0` are neither addresses nor names. */
const ENDS_IN_NUMBER = /(^|\.)\d+\.?$/;
/** The ports and addresses of each section, all required; only the ingress has those that other zones see. */
const ZONE_SECTIONS = {
  zoneIngress: { addresses: ['address', 'advertisedAddress'], ports: ['port', 'advertisedPort'] },
  zoneEgress: { addresses: ['address'], ports: ['port'] },
} as const;
export const SECTIONS = ['zoneIngress', 'zoneEgress'] as const;

export type Section = { readonly path: string; readonly section: JsonObject };

/** The violations of a Dataplane's spec in its stored form, computed lazily; paths start at `networking`. */
export function* dataplaneViolations(spec: JsonObject): Iterable<Violation> {
  const { networking } = spec;
  if (!isObject(networking)) {
    yield { field: 'networking', reason: 'must be an object' };
    return;
  }
  const zoneSections = zoneSectionsOf(networking);
  yield* networkingViolations(networking, zoneSections.length > 0);
  for (const { name, section } of zoneSections) yield* zoneSectionViolations(name, section);
  if (zoneSections.length === 0) return;
  if (isObject(networking['transparentProxying'])) {
    const reason =
      'must not stand beside zoneIngress or zoneEgress: leave it out, or put the zone proxy on a Dataplane of its own';
    yield { field: 'networking.transparentProxying', reason };
  }
  yield* clashes(networking, zoneSections);
}

/**
 * The violations of the zone sections that only the written spec shows: protobuf JSON reads a port in quotes as a number
 * (kds-wire 4), which is allowed for Kuma's fields alone.
 */
export function writtenDataplaneViolations(spec: JsonObject): Violation[] {
  const { networking } = spec;
  if (!isObject(networking)) return [];
  return SECTIONS.flatMap((name) => {
    const section = networking[name];
    if (!isObject(section)) return [];
    return ZONE_SECTIONS[name].ports
      .filter((key) => typeof section[key] === 'string')
      .map((key) => ({ field: `networking.${name}.${key}`, reason: 'must be a port number from 1 to 65535, without quotes' }));
  });
}

/** The fields that Kuma has too. */
function* networkingViolations(networking: JsonObject, hasZoneSections: boolean): Iterable<Violation> {
  const inbounds = sectionsOf(networking, 'inbound');
  const listeners = sectionsOf(networking, 'listeners');
  if (networking['address'] !== undefined || !hasZoneSections)
    yield* addressViolations(networking['address'], 'networking.address');
  for (const { path, section } of inbounds) yield* portViolations(section['port'], `${path}.port`);
  for (const { path, section } of sectionsOf(networking, 'outbound'))
    if (!isObject(section['backendRef'])) yield { field: `${path}.backendRef`, reason: 'must be given' };
  for (const { path, section } of listeners) {
    if (section['type'] === undefined) yield { field: `${path}.type`, reason: 'must be ZoneIngress or ZoneEgress' };
    yield* addressViolations(section['address'], `${path}.address`);
    yield* portViolations(section['port'], `${path}.port`);
  }
  if (isObject(networking['gateway']) && (inbounds.length > 0 || listeners.length > 0))
    yield { field: 'networking.gateway', reason: 'must not stand beside inbound or listeners' };
}

/** There is no fallback to `networking.advertisedAddress` (MADR 095, open question 2). */
function zoneSectionViolations(name: keyof typeof ZONE_SECTIONS, section: JsonObject): Violation[] {
  const { addresses, ports } = ZONE_SECTIONS[name];
  const path = `networking.${name}`;
  return [
    ...addresses.flatMap((key) => strictAddressViolations(section[key], `${path}.${key}`)),
    ...ports.flatMap((key) => portViolations(section[key], `${path}.${key}`)),
  ];
}

/**
 * The violations of a rule where zone sections exist: section names (name, else the port as text) and address:port are unique
 * (D19).
 */
function* clashes(networking: JsonObject, zoneSections: readonly Section[]): Iterable<Violation> {
  const names = new Map<string, string>();
  const places = new Map<string, string>();
  for (const { path, section } of [
    ...sectionsOf(networking, 'inbound'),
    ...sectionsOf(networking, 'listeners'),
    ...zoneSections,
  ]) {
    const name = typeof section['name'] === 'string' && section['name'] !== '' ? section['name'] : scalarText(section['port']);
    const taken = names.get(name);
    if (taken !== undefined) {
      const reason = `${JSON.stringify(name)} is the section name of ${taken} already: set another name`;
      yield { field: `${path}.name`, reason };
    }
    names.set(name, path);
    const place = `${scalarText(section['address'] ?? networking['address'])}:${scalarText(section['port'])}`;
    const other = places.get(place);
    if (other !== undefined) yield { field: `${path}.port`, reason: `${place} is used by ${other} already` };
    places.set(place, path);
  }
}

function addressViolations(value: Json | undefined, field: string): Violation[] {
  if (typeof value !== 'string' || value === '') return [{ field, reason: 'must be given: an IP address or a DNS name' }];
  if (value === '0.0.0.0' || value === '::') return [{ field, reason: 'must not be the unspecified address' }];
  if (isIP(value) === 0 && !DNS_NAME.test(value)) return [{ field, reason: 'must be an IP address or a DNS name' }];
  return [];
}

function strictAddressViolations(value: Json | undefined, field: string): Violation[] {
  const violations = addressViolations(value, field);
  if (violations.length > 0 || typeof value !== 'string') return violations;
  // ::, 0::0 and 0:0:0:0:0:0:0:0 are one address.
  if (isIP(value) === 6 && !/[1-9a-f]/i.test(value)) return [{ field, reason: 'must not be the unspecified address' }];
  if (isIP(value) === 0 && ENDS_IN_NUMBER.test(value)) return [{ field, reason: 'must be an IP address or a DNS name' }];
  return [];
}

function portViolations(value: Json | undefined, field: string): Violation[] {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535) return [];
  return [{ field, reason: 'must be a port number from 1 to 65535' }];
}

function zoneSectionsOf(networking: JsonObject): (Section & { readonly name: (typeof SECTIONS)[number] })[] {
  return SECTIONS.flatMap((name) => {
    const section = networking[name];
    return isObject(section) ? [{ name, path: `networking.${name}`, section }] : [];
  });
}

/** The objects of a list below `networking`, each with its path. */
export function sectionsOf(networking: JsonObject, key: string): Section[] {
  const items = networking[key];
  if (!Array.isArray(items)) return [];
  return items.flatMap((section, index) => (isObject(section) ? [{ path: `networking.${key}[${String(index)}]`, section }] : []));
}

/** A text or a number as text; another value, which another check refuses, as `''`. */
function scalarText(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
