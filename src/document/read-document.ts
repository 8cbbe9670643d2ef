// Reads a resource from a document in Universal, Kubernetes or Gateway API form. The API and the command
// line read every document with this. Pure.
import type { Violation } from '../base/violations.ts';
import { label } from '../resource/labels.ts';
import { isObject, objectOf, textOf } from '../resource/read-json.ts';
import { shown } from '../resource/schema/spec-path.ts';
import { isClusterWide, namesOf } from '../resource/stored-name.ts';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { fromKubernetes } from './kubernetes-form.ts';

export type ReadDocument = {
  readonly info: TypeInfo;
  /** `''` for a type without meshes. */
  readonly mesh: string;
  /** The name as written: a display name or a stored name. */
  readonly name: string;
  /** The body in Universal form, as for a PUT. */
  readonly body: JsonObject;
};

/**
 * Reads type, mesh and name. `readUniversal` reads the parts of the body.
 * @param defaultMesh the mesh of a document that names none; without it the mesh must be given
 * @returns the resource, or the first violation, whose field is named as in Universal form
 */
export function readDocument(value: unknown, defaultMesh?: string): ReadDocument | { readonly violation: Violation } {
  const fault = (field: string, reason: string): { violation: Violation } => ({ violation: { field, reason } });
  if (!isObject(value)) return fault('', 'must be a resource: an object with type and name');
  const read = 'apiVersion' in value && 'kind' in value ? fromKubernetes(value) : { body: value };
  if ('violation' in read) return read;
  const { type = null, name = '' } = read.body;
  if (type === null) return fault('type', 'must be given');
  const info = typeof type === 'string' ? findType(type) : undefined;
  if (info === undefined || info.path === '') return fault('type', `${shown(type)} is not a resource type`);
  const ofMesh: JsonObject = info.scope === 'Mesh' ? { mesh: read.body['mesh'] ?? defaultMesh ?? '' } : {};
  for (const [field, given] of Object.entries({ name, ...ofMesh })) {
    if (given === null || given === '') return fault(field, 'must be given');
    if (typeof given !== 'string') return fault(field, 'must be a string');
  }
  return { info, mesh: textOf(ofMesh['mesh']), name: textOf(name), body: { ...read.body, ...ofMesh } };
}

/** The stored name of the resource, with its namespace. */
export function storedNameOf({ info, name, body }: Pick<ReadDocument, 'info' | 'name' | 'body'>): string {
  const namespace = objectOf(body['labels'])[label.namespace];
  return namesOf(name, typeof namespace === 'string' && !isClusterWide(info) ? namespace : '').storedName;
}

/** The path in the written document of a field of the Universal form. */
export function writtenField(document: unknown, field: string): string {
  if (!isObject(document)) return field;
  const written = 'apiVersion' in document ? kubernetesField(document, field) : null;
  if (written !== null) return written;
  // The spec of a protobuf type may be under `spec` (D18).
  const [first = ''] = /^[^.[]*/.exec(field) ?? [];
  return !(first in document) && first in objectOf(document['spec']) ? `spec.${field}` : field;
}

const MESH_LABEL = `metadata.labels[${JSON.stringify(label.mesh)}]`;
const NAMESPACE_LABEL = `labels[${JSON.stringify(label.namespace)}]`;

/** The path of a field around the spec, in Kubernetes or Gateway API form. Null for every other field. */
function kubernetesField(document: JsonObject, field: string): string | null {
  const { apiVersion, mesh = null, metadata } = document;
  const { namespace = null, labels } = objectOf(metadata);
  // A Kubernetes Secret names its resource type in `type`.
  if (field === 'type') return apiVersion === 'v1' && 'type' in document ? 'type' : 'kind';
  if (field === 'data' && apiVersion === 'v1') return 'data.value';
  if (field === 'mesh') return mesh === null ? MESH_LABEL : 'mesh';
  if (field === NAMESPACE_LABEL && namespace !== null && !(label.namespace in objectOf(labels))) return 'metadata.namespace';
  return /^(name|labels)\b/.test(field) ? `metadata.${field}` : null;
}
