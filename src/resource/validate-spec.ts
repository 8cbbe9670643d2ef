// What every control plane checks of a resource, whether it came by REST or by KDS (kds-wire 6.2, policies 1.5, decisions D17–D19).
// Only what no peer may send is refused here: an old peer's resource must not be lost to a new rule.
import { isIP } from 'node:net';
import type { Violation } from '../base/errors.ts';
import { displayNameOf } from './labels.ts';
import type { TypeInfo } from './type-registry.ts';
import type { Json, JsonObject, Labels } from './types.ts';

const RFC_1035_LABEL = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;
const DNS_NAME = /^(?=.{1,253}$)[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*\.?$/;

/** All violations of a resource; empty when it is valid. Paths start at `name` or `spec` (protobuf types: at their field). */
export function validateResource(
  info: TypeInfo,
  resource: { name: string; mesh: string; labels: Labels; spec: JsonObject },
): Violation[] {
  const violations: Violation[] = [];
  if (info.labelName && !RFC_1035_LABEL.test(displayNameOf(resource))) {
    violations.push({
      field: 'name',
      reason: 'must be an RFC 1035 label: lower-case letters, digits and hyphens, a letter first, at most 63 characters',
    });
  }
  if (info.name === 'Dataplane') validateDataplane(resource.spec, violations);
  if (info.policy !== null) validatePolicy(resource.spec, violations);
  return violations;
}

/** The frame that all targetRef policies share; their confs are checked where the policies live. */
function validatePolicy(spec: JsonObject, violations: Violation[]): void {
  validateTargetRef(spec['targetRef'], 'spec.targetRef', violations);
  for (const section of ['to', 'from', 'rules'] as const) {
    const items = spec[section];
    if (items === undefined || items === null) continue;
    if (!Array.isArray(items)) violations.push({ field: `spec.${section}`, reason: 'must be a list' });
    else {
      for (const [index, item] of items.entries()) {
        const path = `spec.${section}[${String(index)}]`;
        if (!isObject(item)) violations.push({ field: path, reason: 'must be an object' });
        else validateTargetRef(item['targetRef'], `${path}.targetRef`, violations);
      }
    }
  }
}

function validateTargetRef(ref: Json | undefined, path: string, violations: Violation[]): void {
  if (ref === undefined || ref === null) return;
  if (!isObject(ref)) violations.push({ field: path, reason: 'must be an object' });
  else if (typeof ref['kind'] !== 'string' || ref['kind'] === '')
    violations.push({ field: `${path}.kind`, reason: 'must be the name of a kind' });
}

function validateDataplane(spec: JsonObject, violations: Violation[]): void {
  const networking = spec['networking'];
  if (!isObject(networking)) {
    violations.push({ field: 'networking', reason: 'must be an object' });
    return;
  }
  const inbounds = objectsOf(networking['inbound']);
  const outbounds = objectsOf(networking['outbound']);
  const listeners = objectsOf(networking['listeners']);
  const ingress = networking['zoneIngress'];
  const egress = networking['zoneEgress'];
  const hasZoneProxy = isObject(ingress) || isObject(egress);
  if (networking['address'] !== undefined || !hasZoneProxy) address(networking['address'], 'networking.address', violations);
  for (const [index, inbound] of inbounds.entries())
    port(inbound['port'], `networking.inbound[${String(index)}].port`, violations);
  for (const [index, outbound] of outbounds.entries()) {
    if (!isObject(outbound['backendRef']))
      violations.push({ field: `networking.outbound[${String(index)}].backendRef`, reason: 'must be given' });
  }
  for (const [index, listener] of listeners.entries()) {
    const path = `networking.listeners[${String(index)}]`;
    if (listener['type'] === undefined) violations.push({ field: `${path}.type`, reason: 'must be ZoneIngress or ZoneEgress' });
    address(listener['address'], `${path}.address`, violations);
    port(listener['port'], `${path}.port`, violations);
  }
  if (isObject(networking['gateway']) && (inbounds.length > 0 || listeners.length > 0)) {
    violations.push({ field: 'networking.gateway', reason: 'must not stand beside inbound or listeners' });
  }
  if (isObject(ingress)) {
    address(ingress['address'], 'networking.zoneIngress.address', violations);
    port(ingress['port'], 'networking.zoneIngress.port', violations);
    address(ingress['advertisedAddress'], 'networking.zoneIngress.advertisedAddress', violations);
    port(ingress['advertisedPort'], 'networking.zoneIngress.advertisedPort', violations);
  }
  if (isObject(egress)) {
    address(egress['address'], 'networking.zoneEgress.address', violations);
    port(egress['port'], 'networking.zoneEgress.port', violations);
  }
  if (hasZoneProxy && isObject(networking['transparentProxying'])) {
    violations.push({ field: 'networking.transparentProxying', reason: 'must not stand beside zoneIngress or zoneEgress' });
  }
  uniqueSections(networking, inbounds, violations);
}

/** Section names (name, else the port as text) and address:port are unique where zone sections exist (decisions D19). */
function uniqueSections(networking: JsonObject, inbounds: readonly JsonObject[], violations: Violation[]): void {
  const zoneSections = (['zoneIngress', 'zoneEgress'] as const).flatMap((key) => {
    const section = networking[key];
    return isObject(section) ? [{ path: `networking.${key}`, section }] : [];
  });
  if (zoneSections.length === 0) return;
  const all = [...inbounds.map((section, index) => ({ path: `networking.inbound[${String(index)}]`, section })), ...zoneSections];
  const names = new Map<string, string>();
  const places = new Map<string, string>();
  for (const { path, section } of all) {
    const name = typeof section['name'] === 'string' && section['name'] !== '' ? section['name'] : String(section['port']);
    const taken = names.get(name);
    if (taken !== undefined)
      violations.push({
        field: `${path}.name`,
        reason: `${JSON.stringify(name)} is the section name of ${taken} already: set another name`,
      });
    names.set(name, path);
    const place = `${String(section['address'] ?? networking['address'])}:${String(section['port'])}`;
    const other = places.get(place);
    if (other !== undefined) violations.push({ field: `${path}.port`, reason: `${place} is used by ${other} already` });
    places.set(place, path);
  }
}

function address(value: Json | undefined, field: string, violations: Violation[]): void {
  if (typeof value !== 'string' || value === '') violations.push({ field, reason: 'must be given: an IP address or a DNS name' });
  else if (value === '0.0.0.0' || value === '::') violations.push({ field, reason: 'must not be the unspecified address' });
  else if (isIP(value) === 0 && !DNS_NAME.test(value)) violations.push({ field, reason: 'must be an IP address or a DNS name' });
}

function port(value: Json | undefined, field: string, violations: Violation[]): void {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > 65_535) {
    violations.push({ field, reason: 'must be a port number from 1 to 65535' });
  }
}

function objectsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
