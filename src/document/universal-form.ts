// A resource in Universal form, as the REST API and people write it: the spec of a protobuf type is at the top level, that of any
// other type under `spec` (rest-api 2.3). Only this file knows the keys beside a spec. Pure.
import type { Violation } from '../base/violations.ts';
import { kriOf } from '../resource/kri.ts';
import { label } from '../resource/labels.ts';
import { isObject, objectOf, textMapOf, textOf } from '../resource/read-json.ts';
import { keyHint } from '../resource/nearest-key.ts';
import { child } from '../resource/spec-path.ts';
import { isServiceType, type TypeInfo } from '../resource/type-registry.ts';
import type { Json, JsonObject, Labels, Resource } from '../resource/types.ts';
import { snisOf } from './service-snis.ts';

const DEFAULT_MESH = 'default';
/** Keys that control planes write. */
export const READ_ONLY_KEYS: ReadonlySet<string> = new Set(['creationTime', 'modificationTime', 'kri', 'snis', 'status']);
const WRITTEN_KEYS: ReadonlySet<string> = new Set(['type', 'mesh', 'name', 'labels']);
/** Labels that every control plane computes (rest-api 2.5). */
export const COMPUTED_LABELS: ReadonlySet<string> = new Set([
  label.displayName,
  label.origin,
  label.mesh,
  label.zone,
  label.env,
  label.policyRole,
  label.listenerZoneIngress,
  label.listenerZoneEgress,
]);
/** Keys of specs that a PUT does not change (D21). */
const COMPUTED_SPEC: Readonly<Record<string, readonly string[]>> = { MeshService: ['state', 'identities', 'zoneIngress'] };

/** Whether a key of a document stands beside its spec. No spec of a protobuf type has a field of that name. */
export function isBesideSpec(key: string): boolean {
  return key === 'spec' || WRITTEN_KEYS.has(key) || READ_ONLY_KEYS.has(key);
}

/** The keys beside a spec under `spec` that no document has, each with its violation: a write drops them. Empty for a flat document (D7). */
export function unknownKeysBesideSpec(info: TypeInfo, document: JsonObject): Violation[] {
  if (info.codec.kind === 'proto') return [];
  const known = [...WRITTEN_KEYS, 'spec'];
  return Object.keys(document)
    .filter((key) => !isBesideSpec(key))
    .map((key) => ({ field: child('', key).replace(/^\./, ''), reason: `is not a known key; ${keyHint(key, known)}` }));
}

/** The fields of a document except its times. */
export type DocumentedResource = Pick<Resource, 'type' | 'mesh' | 'name' | 'labels' | 'spec' | 'status'>;

/** The document of a resource, with the keys that control planes write. */
export function toUniversal(info: TypeInfo, resource: Resource): JsonObject {
  const meta = metaOf(info, resource);
  if (info.codec.kind === 'proto') return { ...meta, ...resource.spec };
  return {
    ...meta,
    ...(isServiceType(info.name) && { snis: snisOf(resource) }),
    spec: resource.spec,
    ...(info.hasStatus && { status: resource.status }),
  };
}

/** type, mesh, name, times, labels and KRI, as every document has them. */
export function metaOf(info: TypeInfo, resource: Resource, type = info.name): JsonObject {
  const kri = kriOf(resource);
  return {
    type,
    ...(info.scope === 'Mesh' && { mesh: resource.mesh }),
    name: resource.name,
    creationTime: timeOf(resource.creationTime),
    modificationTime: timeOf(resource.modificationTime),
    ...(Object.keys(resource.labels).length > 0 && { labels: { ...resource.labels } }),
    ...(kri !== null && { kri }),
  };
}

/** The time as in RFC 3339, in UTC, to the second. */
export function timeOf(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** The parts of a document for a write. Type, mesh and name are not checked. */
export type UniversalParts = {
  readonly type: Json | undefined;
  readonly mesh: Json | undefined;
  readonly name: Json | undefined;
  readonly labels: Labels;
  readonly spec: JsonObject;
};

/**
 * Reads a document of a known type. Read-only keys and unknown keys beside `spec` are dropped.
 * @returns the parts, or the violations of labels and spec
 */
export function readUniversal(
  info: TypeInfo,
  document: JsonObject,
): UniversalParts | { readonly violations: readonly Violation[] } {
  const { type, name, labels = {} } = document;
  const spec = specOf(info, document);
  if (!isObject(labels)) return { violations: [{ field: 'labels', reason: 'must be an object of strings' }] };
  const violations = Object.entries(labels)
    .filter(([, value]) => typeof value !== 'string')
    .map(([key]) => ({ field: `labels[${JSON.stringify(key)}]`, reason: 'must be a string' }));
  if (violations.length > 0) return { violations };
  if (!isObject(spec)) return { violations: [{ field: 'spec', reason: 'must be an object' }] };
  return { type, mesh: meshOf(info, document), name, labels: labels as Labels, spec };
}

/** The resource that a control plane printed. A part of the wrong form is read as empty. */
export function fromUniversal(info: TypeInfo, document: JsonObject): DocumentedResource {
  const { mesh, name, labels, status } = document;
  const spec = objectOf(specOf(info, document));
  return { type: info.name, mesh: textOf(mesh), name: textOf(name), labels: textMapOf(labels), spec, status: objectOf(status) };
}

/** The mesh of a document. The default for a type with a spec is `default`; a flat document must name its mesh. */
function meshOf(info: TypeInfo, { mesh }: JsonObject): Json | undefined {
  return info.codec.kind === 'json' && info.scope === 'Mesh' ? (mesh ?? DEFAULT_MESH) : mesh;
}

function specOf(info: TypeInfo, document: JsonObject): Json | undefined {
  const { spec } = document;
  if (info.codec.kind === 'json') return spec;
  // A Dataplane may also have `networking` under `spec` (D18).
  const nested = spec ?? {};
  if (!isObject(nested)) return nested;
  return { ...nested, ...Object.fromEntries(Object.entries(document).filter(([key]) => !isBesideSpec(key))) };
}

/** A document without read-only keys, with all of its labels. */
export function editable(document: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(document).filter(([key]) => !READ_ONLY_KEYS.has(key)));
}

/** A portable document without computed fields; type, mesh, name and labels come first. */
export function applyable(info: TypeInfo, document: JsonObject): JsonObject {
  const { type, mesh, name, labels, ...rest } = editable(document);
  const own = Object.entries(objectOf(labels)).filter(([key]) => !COMPUTED_LABELS.has(key));
  const computed = COMPUTED_SPEC[info.name] ?? [];
  const spec = Object.entries(objectOf(rest['spec'])).filter(([key]) => !computed.includes(key));
  return {
    ...{ type: type ?? info.name, ...(mesh !== undefined && { mesh }), name: name ?? '' },
    ...(own.length > 0 && { labels: Object.fromEntries(own) }),
    ...rest,
    ...('spec' in rest && { spec: Object.fromEntries(spec) }),
  };
}
