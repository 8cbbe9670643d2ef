// The violations of a Dataplane that a person writes. A Kuma control plane refuses the same. A Dataplane from a peer passes only
// validate-dataplane.ts.
import { isIP } from 'node:net';
import type { Violation } from '../base/errors.ts';
import { collectViolations } from '../base/violations.ts';
import { isObject, objectOf, textOf } from '../resource/read-json.ts';
import { SECTION_NAME, SECTION_NAME_FORM } from '../schema/spec-fields.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { sectionsOf, SECTIONS, type Section } from '../resource/validate-dataplane.ts';
import { isServiceType, SERVICE_TYPES } from '../resource/type-registry.ts';

const PORT = 'must be a port number from 1 to 65535';
const PROTOCOLS = ['tcp', 'http', 'http2', 'grpc'];
const SERVICE_TAG = 'kuma.io/service';
const PROTOCOL_TAG = 'kuma.io/protocol';
const TAG_NAME = /^[a-zA-Z0-9.\-_:/]+$/;

/** All violations, up to a bound, of a Dataplane's spec in its stored form; paths start at `networking`. */
export function peerDataplaneViolations(spec: JsonObject): Violation[] {
  return collectViolations((refuse) => {
    for (const { field, reason } of violationsOf(spec)) refuse(field, reason);
  });
}

function* violationsOf(spec: JsonObject): Iterable<Violation> {
  const { networking } = spec;
  if (!isObject(networking)) return;
  const inbounds = sectionsOf(networking, 'inbound');
  const listeners = sectionsOf(networking, 'listeners');
  const zoneSections = SECTIONS.map((name) => ({ path: `networking.${name}`, section: objectOf(networking[name]) }));
  for (const { path, section } of [...inbounds, ...listeners, ...zoneSections]) yield* sectionNameViolations(path, section);
  for (const inbound of inbounds) yield* inboundViolations(inbound);
  for (const outbound of sectionsOf(networking, 'outbound')) yield* outboundViolations(outbound);
  yield* gatewayTags(objectOf(objectOf(networking['gateway'])['tags']));
  yield* redirectPorts(networking);
  yield* reachableBackends(networking);
  yield* listenerClashes(networking, inbounds, listeners);
}

function* sectionNameViolations(path: string, section: JsonObject): Iterable<Violation> {
  const { name } = section;
  if (typeof name === 'string' && name !== '' && !SECTION_NAME.test(name))
    yield { field: `${path}.name`, reason: `must be ${SECTION_NAME_FORM}` };
}

function* inboundViolations({ path, section }: Section): Iterable<Violation> {
  const { protocol, servicePort } = section;
  if (typeof protocol === 'string' && protocol !== '' && !PROTOCOLS.includes(protocol))
    yield { field: `${path}.protocol`, reason: `must be one of ${PROTOCOLS.join(', ')}` };
  if (servicePort !== undefined && !isPort(servicePort)) yield { field: `${path}.servicePort`, reason: PORT };
  for (const key of ['address', 'serviceAddress']) yield* ipViolation(section[key], `${path}.${key}`);
  const probe = objectOf(section['serviceProbe']);
  for (const key of ['interval', 'timeout'])
    if (/^-|^0*(\.0*)?s$/.test(textOf(probe[key])))
      yield { field: `${path}.serviceProbe.${key}`, reason: 'must be greater than 0' };
  for (const key of ['unhealthyThreshold', 'healthyThreshold'])
    if (probe[key] === 0) yield { field: `${path}.serviceProbe.${key}`, reason: 'must be greater than 0' };
}

function* outboundViolations({ path, section }: Section): Iterable<Violation> {
  const { port, address, backendRef } = section;
  if (!isPort(port)) yield { field: `${path}.port`, reason: PORT };
  yield* ipViolation(address, `${path}.address`);
  if (!isObject(backendRef)) return;
  yield* kindViolation(backendRef, `${path}.backendRef`);
  // A MeshExternalService has one port.
  const isOnePort = backendRef['kind'] === 'MeshExternalService' && backendRef['port'] === undefined;
  if (!isOnePort && !isPort(backendRef['port'])) yield { field: `${path}.backendRef.port`, reason: PORT };
  if (!hasName(backendRef) && !hasLabels(backendRef)) yield { field: `${path}.backendRef`, reason: 'must have name or labels' };
}

/** A port that is 0 or left out redirects nothing. */
function* redirectPorts(networking: JsonObject): Iterable<Violation> {
  const path = 'networking.transparentProxying';
  const { redirectPortInbound: inbound, redirectPortOutbound: outbound } = objectOf(networking['transparentProxying']);
  for (const [key, port] of Object.entries({ redirectPortInbound: inbound, redirectPortOutbound: outbound }))
    if (port !== undefined && port !== 0 && !isPort(port)) yield { field: `${path}.${key}`, reason: PORT };
  if (isPort(outbound) && inbound === outbound)
    yield { field: `${path}.redirectPortOutbound`, reason: 'must not be the port of redirectPortInbound' };
}

function* reachableBackends(networking: JsonObject): Iterable<Violation> {
  const backends = objectOf(objectOf(networking['transparentProxying'])['reachableBackends']);
  for (const { path, section } of sectionsOf(backends, 'refs')) {
    const at = path.replace('networking.refs', 'networking.transparentProxying.reachableBackends.refs');
    yield* kindViolation(section, at);
    if (hasName(section) && hasLabels(section)) yield { field: `${at}.labels`, reason: 'must not be set beside name' };
    if (!hasName(section) && (!hasLabels(section) || textOf(section['namespace']) !== ''))
      yield { field: `${at}.name`, reason: 'must be given, or labels in its place' };
  }
}

/** A delegated gateway with tags is found by its service. */
function* gatewayTags(tags: JsonObject): Iterable<Violation> {
  const path = 'networking.gateway.tags';
  if (Object.keys(tags).length === 0) return;
  if (tags[SERVICE_TAG] === undefined) yield { field: path, reason: `must have the tag ${SERVICE_TAG}, or be left out` };
  for (const [key, value] of Object.entries(tags)) {
    const field = `${path}[${JSON.stringify(key)}]`;
    if (!TAG_NAME.test(key)) yield { field, reason: 'must have a name of letters, digits and . - _ : /' };
    if (value === '') yield { field, reason: 'must not be empty' };
    if (key === PROTOCOL_TAG && value !== '' && value !== 'tcp') yield { field, reason: 'must be tcp' };
  }
}

/** A listener has a name and an address of its own beside inbounds and listeners of the other type. */
function* listenerClashes(
  networking: JsonObject,
  inbounds: readonly Section[],
  listeners: readonly Section[],
): Iterable<Violation> {
  if (listeners.length === 0) return;
  const names = new Set(inbounds.map(({ section }) => textOf(section['name'])));
  const places = new Map(inbounds.map(({ section }) => [placeOf(section, networking), 'inbound']));
  for (const { path, section } of listeners) {
    const name = textOf(section['name']);
    if (name !== '' && names.has(name))
      yield { field: `${path}.name`, reason: `must not be ${JSON.stringify(name)}: another inbound or listener has that name` };
    names.add(name);
    const place = placeOf(section, networking);
    const type = textOf(section['type']);
    if ((places.get(place) ?? type) !== type) yield { field: `${path}.port`, reason: `${place} is used by another section` };
    places.set(place, type);
  }
}

function placeOf({ address, port }: JsonObject, networking: JsonObject): string {
  return `${textOf(address) || textOf(networking['address'])}:${typeof port === 'number' ? port : ''}`;
}

function* kindViolation(ref: JsonObject, path: string): Iterable<Violation> {
  if (!isServiceType(textOf(ref['kind']))) yield { field: `${path}.kind`, reason: `must be one of ${SERVICE_TYPES.join(', ')}` };
}

function* ipViolation(value: Json | undefined, field: string): Iterable<Violation> {
  if (typeof value === 'string' && value !== '' && isIP(value) === 0) yield { field, reason: 'must be an IP address' };
}

function hasName(ref: JsonObject): boolean {
  return textOf(ref['name']) !== '';
}

function hasLabels(ref: JsonObject): boolean {
  return Object.keys(objectOf(ref['labels'])).length > 0;
}

function isPort(value: Json | undefined): boolean {
  return typeof value === 'number' && value >= 1 && value <= 65_535;
}
