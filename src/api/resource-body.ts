// A resource as JSON on the REST API, in both forms: flat for protobuf types, under `spec` for the others (rest-api 2.3).
import { kriOf } from '../resource/kri.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { Json, JsonObject, Labels, Resource } from '../resource/types.ts';
import { ApiError } from './error-body.ts';
import { hasSnis, snisOf } from './service-snis.ts';

const DEFAULT_MESH = 'default';
const META = new Set(['type', 'mesh', 'name', 'labels', 'kri', 'snis', 'creationTime', 'modificationTime', 'status', 'spec']);

/** The body of a resource. */
export function bodyOf(info: TypeInfo, resource: Resource): JsonObject {
  const meta = metaOf(info, resource);
  if (info.codec.kind === 'proto') return { ...meta, ...resource.spec };
  return {
    ...meta,
    ...(hasSnis(info.name) && { snis: snisOf(resource) }),
    spec: resource.spec,
    ...(info.hasStatus && { status: resource.status }),
  };
}

/** type, mesh, name, times, labels and KRI, as every body has them. */
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

/** RFC 3339 in UTC, to the second. */
export function timeOf(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

export type ParsedBody = {
  readonly type: Json | undefined;
  readonly mesh: Json | undefined;
  readonly name: Json | undefined;
  readonly labels: Labels;
  readonly spec: JsonObject;
};

/**
 * The parts of a PUT body. Keys that the server writes (times, kri, snis, status) and unknown ones are dropped.
 * @throws ApiError when it is no object, or labels or spec have the wrong form
 */
export function parseBody(info: TypeInfo, given: unknown): ParsedBody {
  if (!isObject(given)) throw new ApiError('bad_request', 'Bad Request', 'the body must be a JSON object');
  const { type, name, spec } = given;
  const labels = given['labels'] ?? {};
  if (!isObject(labels)) refuse('labels', 'must be an object of strings');
  for (const [key, value] of Object.entries(labels))
    if (typeof value !== 'string') refuse(`labels[${JSON.stringify(key)}]`, 'must be a string');
  return { type, mesh: meshOf(info, given), name, labels: labels as Labels, spec: specOf(info, given, spec) };
}

/** A type with a spec is of the mesh `default` unless its body says otherwise; a flat one must say. */
function meshOf(info: TypeInfo, { mesh }: JsonObject): Json | undefined {
  return info.codec.kind === 'json' && info.scope === 'Mesh' ? (mesh ?? DEFAULT_MESH) : mesh;
}

function specOf(info: TypeInfo, given: JsonObject, spec: Json | undefined): JsonObject {
  if (info.codec.kind === 'json') {
    if (!isObject(spec)) refuse('spec', 'must be an object');
    return spec;
  }
  const flat = Object.fromEntries(Object.entries(given).filter(([key]) => !META.has(key)));
  // A Dataplane is taken with `networking` under `spec` too (D18).
  return isObject(spec) ? { ...spec, ...flat } : flat;
}

function refuse(field: string, reason: string): never {
  throw new ApiError('invalid', 'Could not process a resource', `${field}: ${reason}`, [{ field, reason }]);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
