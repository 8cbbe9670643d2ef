// A document in Kubernetes form → the Universal form that the REST API takes (decisions D5, D24).
import { isGatewayDocument } from '../gateway-api/parse-route.ts';
import { universalOf } from '../gateway-api/stored-document.ts';
import { label } from '../resource/labels.ts';
import { isClusterWide } from '../resource/stored-name.ts';
import { findType } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { isObject, objectOf } from '../resource/read-json.ts';

/** `type` of Kubernetes Secrets that are Kuma's (rest-api 2.2 `format`). */
const SECRET_TYPES: Readonly<Record<string, string>> = {
  'system.kuma.io/secret': 'Secret',
  'system.kuma.io/global-secret': 'GlobalSecret',
};

/**
 * `kuma.io/v1alpha1` and Gateway API's group: metadata becomes name, mesh and labels.
 * @returns a sentence that begins with the field at fault when it cannot be
 */
export function fromKubernetes(given: JsonObject): JsonObject | string {
  const { apiVersion, kind, metadata, spec } = given;
  if (apiVersion === 'v1' && kind === 'Secret') return fromSecret(given);
  if (isGatewayDocument(given)) {
    const read = universalOf(given);
    return 'body' in read ? read.body : `${read.violation.field}: ${read.violation.reason}`;
  }
  if (apiVersion !== 'kuma.io/v1alpha1')
    return `apiVersion: must be kuma.io/v1alpha1 or gateway.networking.k8s.io/v1, or leave it out and give type, name and mesh`;
  if (!isObject(metadata)) return 'metadata: must be an object';
  const { [label.mesh]: mesh = given['mesh'] ?? 'default', ...others } = objectOf(metadata['labels']);
  const namespace = metadata['namespace'];
  const info = typeof kind === 'string' ? findType(kind) : undefined;
  const hasNamespace = typeof namespace === 'string' && (info === undefined || !isClusterWide(info));
  return {
    type: kind ?? null,
    name: metadata['name'] ?? null,
    ...(info?.scope === 'Mesh' && { mesh }),
    labels: { ...others, ...(hasNamespace && { [label.namespace]: namespace }) },
    ...(info?.codec.kind === 'proto' ? objectOf(spec) : { spec: spec ?? {} }),
  };
}

function fromSecret({ type, metadata, data }: JsonObject): JsonObject | string {
  const name = Object.hasOwn(SECRET_TYPES, String(type)) ? SECRET_TYPES[String(type)] : undefined;
  if (name === undefined) return `type: must be ${Object.keys(SECRET_TYPES).join(' or ')}`;
  if (!isObject(metadata)) return 'metadata: must be an object';
  const { [label.mesh]: mesh = 'default', ...labels } = objectOf(metadata['labels']);
  return {
    type: name,
    name: metadata['name'] ?? null,
    ...(name === 'Secret' && { mesh }),
    labels,
    data: objectOf(data)['value'] ?? '',
  };
}
