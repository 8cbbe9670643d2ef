// Finds a field of the Universal form in a document as it was written: in Universal, Kubernetes or Gateway API form.
import { label } from '../resource/labels.ts';
import { isObject, objectOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';

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
