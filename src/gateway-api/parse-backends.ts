// Backends in both spellings, GEP-718's `forwardTo` and today's `backendRefs`, and the one backend of a mirror.
// Invariant: an entry names exactly one backend; a Service (GEP-718 «API», D25) and a MeshMultiZoneService (policies 1.4) always with a
// port.
import type { Field } from './field.ts';
import { type Backend, isService, MESH_GROUP, type ObjectRef } from './gateway-route.ts';
import { parseBackendFilters } from './parse-header-modifier.ts';
import { parseObjectRef, REF_KEYS } from './parse-references.ts';

const MAX_WEIGHT = 1_000_000;
const NO_FILTERS = {
  forwardTo: 'is for backendRefs: write the backend there, or filters beside matches',
  TCPRoute: 'is for an HTTPRoute: a TCPRoute changes no headers',
};

/**
 * `spec.rules[i]` → its backends; every refusal is noted at its field.
 * @param options with `filters` a backend of backendRefs may modify headers
 */
export function parseBackends(rule: Field, namespace: string | undefined, options: { readonly filters: boolean }): Backend[] {
  const forwardTo = rule.at('forwardTo');
  const backendRefs = rule.at('backendRefs');
  if (forwardTo.isGiven && backendRefs.isGiven) forwardTo.refuse('must not be given with backendRefs: keep only backendRefs');
  return [
    ...forwardTo.items().map((entry) => forwardToEntry(entry, namespace)),
    ...backendRefs.items().map((entry) => backendRefsEntry(entry, namespace, options)),
  ].filter((backend) => backend !== undefined);
}

/** The backend of a mirror: `backendRef` with the port inside (today) or beside it (GEP-718); a mirror has no weight. */
export function parseMirrorBackend(mirror: Field, namespace: string | undefined): Backend | undefined {
  const serviceName = mirror.at('serviceName');
  const backendRef = mirror.at('backendRef');
  const inner = backendRef.at('port');
  const outer = mirror.at('port');
  const port = inner.isGiven ? inner : outer;
  if (inner.isGiven && outer.isGiven)
    outer.refuse('stands beside backendRef.port: two ports for one backend; keep backendRef.port');
  if (serviceName.isGiven)
    refuseServiceName(serviceName, backendRef, (name) => `backendRef: {name: ${name}, port: ${shownPort(port)}}`);
  else if (!backendRef.isGiven) backendRef.refuse('must be given: write backendRef: {name: …, port: …}');
  if (!backendRef.isObject()) return undefined;
  backendRef.allowKeys([...REF_KEYS, 'port'], { weight: NO_MIRROR_WEIGHT });
  return readBackend(mirror.path, backendRef, { port, missingPort: inner }, namespace);
}

/** The reason for refusing a weight in or beside the backend of a mirror. */
export const NO_MIRROR_WEIGHT = 'has no meaning in a mirror, which gets a copy of each request: write percent beside backendRef';

/** A backend as `{backendRef: {name, kind?, group?, namespace?}, port, weight}` (GEP-718). */
function forwardToEntry(entry: Field, namespace: string | undefined): Backend | undefined {
  if (!entry.isGiven) return entry.refuse('must be an object with backendRef');
  if (!entry.isObject()) return undefined;
  const [serviceName, backendRef, port] = [entry.at('serviceName'), entry.at('backendRef'), entry.at('port')];
  const inline = REF_KEYS.filter((key) => entry.at(key).isGiven);
  if (serviceName.isGiven)
    refuseServiceName(serviceName, backendRef, (name) => `backendRef: {name: ${name}} and port: ${shownPort(port)}`);
  else if (!backendRef.isGiven) backendRef.refuse('must be given: write backendRef: {name: …} and port: …');
  if (inline.length > 0 && backendRef.isGiven) entry.refuse(twoSpecs('backendRef', inline));
  const belongInside = inline.map((key) => [key, `belongs into backendRef: write backendRef: {${key}: ${entry.at(key).shown}}`]);
  const elsewhere = { filters: NO_FILTERS.forwardTo, ...(Object.fromEntries(belongInside) as Record<string, string>) };
  entry.allowKeys(['backendRef', 'port', 'weight'], elsewhere, ['serviceName']);
  const weight = parseWeight(entry);
  if (!backendRef.isObject()) {
    if (serviceName.isGiven) checkPort(port, 'Service');
    return undefined;
  }
  backendRef.allowKeys(REF_KEYS, {
    port: 'belongs beside backendRef in forwardTo',
    weight: 'belongs beside backendRef in forwardTo',
  });
  return readBackend(entry.path, backendRef, { port, missingPort: port, weight }, namespace);
}

/** The backend in today's form: `{name, kind?, group?, namespace?, port, weight}`. */
function backendRefsEntry(
  entry: Field,
  namespace: string | undefined,
  options: { readonly filters: boolean },
): Backend | undefined {
  if (!entry.isGiven) return entry.refuse('must be an object with name and port');
  if (!entry.isObject()) return undefined;
  const [serviceName, backendRef, port] = [entry.at('serviceName'), entry.at('backendRef'), entry.at('port')];
  const inline = REF_KEYS.filter((key) => entry.at(key).isGiven);
  if (serviceName.isGiven)
    refuseServiceName(serviceName, entry.at('name'), (name) => `name: ${name} and port: ${shownPort(port)}`);
  if (backendRef.isGiven && inline.length > 0) entry.refuse(twoSpecs('backendRef', inline));
  const elsewhere = {
    ...(!options.filters && { filters: NO_FILTERS.TCPRoute }),
    backendRef: 'is for forwardTo: in backendRefs write name, kind, group and namespace directly in the entry',
  };
  const keys = [...REF_KEYS, 'port', 'weight', ...(options.filters ? ['filters'] : [])];
  entry.allowKeys(keys, elsewhere, ['serviceName']);
  const weight = parseWeight(entry);
  const filters = options.filters ? parseBackendFilters(entry) : [];
  if (serviceName.isGiven || backendRef.isGiven) {
    checkPort(port, serviceName.isGiven ? 'Service' : undefined);
    return undefined;
  }
  return readBackend(entry.path, entry, { port, missingPort: port, weight, filters }, namespace);
}

type Beside = {
  readonly port: Field;
  readonly missingPort: Field;
  readonly weight?: number | undefined;
  readonly filters?: Backend['filters'];
};

function readBackend(
  at: string,
  ref: Field,
  { port, missingPort, weight, filters = [] }: Beside,
  namespace: string | undefined,
): Backend | undefined {
  const object = parseObjectRef(ref, namespace);
  const needing = object === undefined ? undefined : kindWithPort(object);
  const number = checkPort(port.isGiven ? port : missingPort, needing);
  if (object === undefined || (number === undefined && (needing !== undefined || port.isGiven))) return undefined;
  return { ...object, at, port: number, weight: weight ?? 1, filters };
}

/** The kind of a backend that must have a port; undefined for all others. */
function kindWithPort(object: ObjectRef): string | undefined {
  if (isService(object)) return 'Service';
  return object.group === MESH_GROUP && object.kind === 'MeshMultiZoneService' ? object.kind : undefined;
}

/** @param needing the kind of the backend, if it must have a port */
function checkPort(port: Field, needing: string | undefined): number | undefined {
  if (!port.isGiven && needing !== undefined)
    return port.refuse(`must be given when the backend is a ${needing}: a port number from 1 to 65535`);
  return port.integer(1, 65_535);
}

function parseWeight(entry: Field): number | undefined {
  return entry.at('weight').integer(0, MAX_WEIGHT);
}

/** Refuses the shortcut, which is gone, also from the mirror (GEP-718 «Proposal»). */
function refuseServiceName(serviceName: Field, other: Field, replacement: (name: string) => string): void {
  const name = serviceName.text() === undefined ? '…' : serviceName.shown;
  serviceName.refuse(
    other.isGiven
      ? `was removed, and another backend stands beside it: keep one, as ${replacement(name)}`
      : `was removed: write ${replacement(name)}`,
  );
}

function twoSpecs(one: string, others: readonly string[]): string {
  return `names two backends, by ${one} and by ${others.join(', ')}: keep one`;
}

function shownPort(port: Field): string {
  return port.isGiven ? port.shown : '…';
}
