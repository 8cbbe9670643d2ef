// The body of `POST /_apply`: documents in Universal or Kubernetes form → type, mesh, name and body of each (D5). Every violation
// names the position of its document, `documents[3].name`.
import type { Steps } from '../base/steps.ts';
import { MAX_VIOLATIONS, type Violation } from '../base/violations.ts';
import { isObject } from '../resource/read-json.ts';
import type { Json } from '../resource/types.ts';
import { ApiError } from '../http/error-body.ts';
import { MAX_BODY_BYTES } from '../http/body-size.ts';
import { readDocument, storedNameOf, type ReadDocument } from '../document/read-document.ts';
import { MESH_NAME, MESH_NAME_REASON, refuseAll } from './write-checks.ts';

/** The largest number of documents in one request. */
const MAX_DOCUMENTS = 100_000;

/** `place` is `documents[3]`, and `size` the length of its JSON. */
export type ApplyDocument = ReadDocument & { readonly place: string; readonly size: number };

/**
 * Reads a list, or an object with `documents` or `items` (the form of a list answer).
 * @throws ApiError 400
 * @param field the list that `place` names
 */
export function* parseDocuments(given: unknown, field = 'documents'): Steps<ApplyDocument[]> {
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
  const violations: Violation[] = [];
  for (const [index, value] of (list as Json[]).entries()) {
    const document = parseDocument(value, `${field}[${String(index)}]`);
    if ('reason' in document) violations.push(document);
    else documents.push(document);
    if (violations.length > MAX_VIOLATIONS) break;
    yield;
  }
  refuseAll(violations);
  return documents;
}

/** The stored name of the resource of a document, with its namespace. */
export function storedNameIn(document: ApplyDocument): string {
  return storedNameOf(document);
}

function parseDocument(value: Json, place: string): ApplyDocument | Violation {
  const fault = ({ field, reason }: Violation): Violation => ({ field: field === '' ? place : `${place}.${field}`, reason });
  const size = Buffer.byteLength(JSON.stringify(value));
  if (size > MAX_BODY_BYTES) return fault({ field: '', reason: `must have at most ${String(MAX_BODY_BYTES)} bytes` });
  const read = readDocument(value);
  if ('violation' in read) return fault(read.violation);
  if (read.mesh !== '' && !MESH_NAME.test(read.mesh)) return fault({ field: 'mesh', reason: MESH_NAME_REASON });
  return { place, size, ...read };
}
