// The body of `POST /_apply`: documents in Universal or Kubernetes form → type, mesh, name and body of each (D5).
// Every fault is named by the place of its document, `documents[3].name`.
import { collectViolations, type Refuse } from '../base/violations.ts';
import { shown } from '../resource/schema/spec-path.ts';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import type { Json, JsonObject } from '../resource/types.ts';
import { ApiError } from './error-body.ts';
import { MAX_BODY_BYTES } from './http-server.ts';
import { fromKubernetes } from '../document/kubernetes-form.ts';
import { MESH_NAME, MESH_NAME_REASON, refuseAll } from './write-checks.ts';

/** Documents of one request. */
const MAX_DOCUMENTS = 100_000;

export type ApplyDocument = {
  /** `documents[3]`. */
  readonly place: string;
  readonly info: TypeInfo;
  readonly mesh: string;
  readonly name: string;
  /** Universal form, as a PUT takes it. */
  readonly body: JsonObject;
};

/** A list, or an object with `documents` or, as a list is answered, `items`. @throws ApiError 400 */
export function parseDocuments(given: unknown): ApplyDocument[] {
  const list = Array.isArray(given) ? given : isObject(given) ? (given['documents'] ?? given['items']) : undefined;
  if (!Array.isArray(list) || list.length === 0) {
    const reason = 'the body must be a list of resources, or an object with such a list as "documents"';
    throw new ApiError('bad_request', 'Bad Request', reason);
  }
  if (list.length > MAX_DOCUMENTS) {
    const reason = `the body must have at most ${String(MAX_DOCUMENTS)} resources, not ${String(list.length)}: send them in parts`;
    throw new ApiError('too_large', 'Payload too large', reason);
  }
  const documents: ApplyDocument[] = [];
  refuseAll(
    collectViolations((refuse) => {
      for (const [index, value] of (list as Json[]).entries()) {
        const document = parseDocument(value, `documents[${String(index)}]`, refuse);
        if (document !== undefined) documents.push(document);
      }
    }),
  );
  return documents;
}

/** Undefined where it was refused. */
function parseDocument(value: Json, place: string, refuse: Refuse): ApplyDocument | undefined {
  const fault = (field: string, reason: string): undefined => void refuse(field === '' ? place : `${place}.${field}`, reason);
  if (!isObject(value)) return fault('', 'must be a resource: an object with type and name');
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_BODY_BYTES)
    return fault('', `must have at most ${String(MAX_BODY_BYTES)} bytes`);
  const read = 'apiVersion' in value && 'kind' in value ? fromKubernetes(value) : { body: value };
  if ('violation' in read) return fault(read.violation.field, read.violation.reason);
  const given = read.body;
  const { type, name, mesh } = given;
  const info = typeof type === 'string' ? findType(type) : undefined;
  if (info === undefined || info.path === '') return fault('type', `${shown(type ?? null)} is no resource type`);
  if (typeof name !== 'string' || name === '') return fault('name', 'must be given');
  if (info.scope === 'Global') return { place, info, mesh: '', name, body: given };
  if (typeof mesh !== 'string' || mesh === '') return fault('mesh', 'must be given');
  if (!MESH_NAME.test(mesh)) return fault('mesh', MESH_NAME_REASON);
  return { place, info, mesh, name, body: given };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
