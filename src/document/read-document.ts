// Reads a resource from a document in Universal, Kubernetes or Gateway API form. The API and the command
// line read every document with this. Pure.
import type { Violation } from '../base/violations.ts';
import { label } from '../resource/labels.ts';
import { isObject, objectOf, textOf } from '../resource/read-json.ts';
import { shown } from '../resource/spec-path.ts';
import { isClusterWide, namesOf } from '../resource/stored-name.ts';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { fromKubernetes, isInSystemNamespace } from './kubernetes-form.ts';

export type ReadDocument = {
  readonly info: TypeInfo;
  /** It is `''` for a type without meshes. */
  readonly mesh: string;
  /** The name as written: a display name or a stored name. */
  readonly name: string;
  /** The body in Universal form, as for a PUT. */
  readonly body: JsonObject;
  /** Whether it is an object of Kubernetes in the system namespace, which leaves open whether the resource has that namespace. */
  readonly isInSystemNamespace?: boolean;
};

/**
 * Reads type, mesh and name. `readUniversal` reads the parts of the body.
 * @param defaultMesh the mesh of a document that names none; without it the mesh must be given
 * @returns the resource, or the first violation, whose field is named as in Universal form
 */
export function readDocument(value: unknown, defaultMesh?: string): ReadDocument | { readonly violation: Violation } {
  const fault = (field: string, reason: string): { violation: Violation } => ({ violation: { field, reason } });
  if (!isObject(value)) return fault('', 'must be a resource: an object with type and name');
  const isObjectOfKubernetes = 'apiVersion' in value && 'kind' in value;
  const read = isObjectOfKubernetes ? fromKubernetes(value) : { body: value };
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
  return {
    ...{ info, mesh: textOf(ofMesh['mesh']), name: textOf(name), body: { ...read.body, ...ofMesh } },
    ...(isObjectOfKubernetes && isInSystemNamespace(value) && { isInSystemNamespace: true }),
  };
}

/** The stored name of the resource, with its namespace. */
export function storedNameOf({ info, name, body }: Pick<ReadDocument, 'info' | 'name' | 'body'>): string {
  const namespace = objectOf(body['labels'])[label.namespace];
  return namesOf(name, typeof namespace === 'string' && !isClusterWide(info) ? namespace : '').storedName;
}
