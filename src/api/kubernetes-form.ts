// A resource as a Kubernetes object and back (rest-api 2.2 `format`, decisions D5). Kinds are those of Kuma's resources; secrets
// are `v1` Secrets of a type of their own.
import { documentOf, GATEWAY_TYPES, universalOf } from '../gateway-api/stored-document.ts';
import { isGatewayDocument } from '../gateway-api/parse-route.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { SYSTEM_NAMESPACE } from '../resource/policy-role.ts';
import { isClusterWide } from '../resource/stored-name.ts';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import type { Json, JsonObject, Resource } from '../resource/types.ts';

const API_VERSION = 'kuma.io/v1alpha1';
const SECRET_TYPES: Readonly<Record<string, string>> = {
  Secret: 'system.kuma.io/secret',
  GlobalSecret: 'system.kuma.io/global-secret',
};

/** The object that `kubectl apply` would take. Mesh and Zone have no namespace, others that of their label or the system's. */
export function toKubernetes(info: TypeInfo, resource: Resource): JsonObject {
  if (GATEWAY_TYPES.has(info.name)) return documentOf(resource);
  const { [label.mesh]: _mesh, ...others } = resource.labels;
  const labels = { ...others, ...(info.scope === 'Mesh' && { [label.mesh]: resource.mesh }) };
  const namespace = resource.labels[label.namespace] ?? SYSTEM_NAMESPACE;
  const metadata: JsonObject = {
    name: isClusterWide(info) || resource.labels[label.namespace] === undefined ? resource.name : displayNameOf(resource),
    ...(!isClusterWide(info) && { namespace }),
    ...(Object.keys(labels).length > 0 && { labels }),
  };
  const secretType = SECRET_TYPES[info.name];
  if (secretType !== undefined)
    return { apiVersion: 'v1', kind: 'Secret', metadata, type: secretType, data: { value: resource.spec['data'] ?? '' } };
  const head: JsonObject = { apiVersion: API_VERSION, kind: info.name };
  if (info.codec.kind === 'proto' && info.scope === 'Mesh') head['mesh'] = resource.mesh;
  return { ...head, metadata, spec: resource.spec, ...(info.hasStatus && { status: resource.status }) };
}

/** The same in Universal form, or a sentence that says what is wrong. The caller checks name, mesh and spec as always. */
export function fromKubernetes(document: JsonObject): JsonObject | string {
  if (isGatewayDocument(document)) {
    const read = universalOf(document);
    return 'body' in read ? read.body : `${read.violation.field}: ${read.violation.reason}`;
  }
  const { apiVersion, kind, mesh: meshField, metadata, spec, type, data } = document;
  const isSecret = apiVersion === 'v1' && kind === 'Secret';
  if (apiVersion !== API_VERSION && !isSecret)
    return `apiVersion: must be ${API_VERSION} or of Gateway API, or leave it out and give type and name`;
  const secretName = Object.keys(SECRET_TYPES).find((name) => SECRET_TYPES[name] === type);
  if (isSecret && secretName === undefined) return `type: must be ${Object.values(SECRET_TYPES).join(' or ')}`;
  if (!isObject(metadata)) return 'metadata: must be an object';
  const { name, namespace, labels = {} } = metadata;
  if (!isObject(labels)) return 'metadata.labels: must be an object of strings';
  const { [label.mesh]: meshLabel, ...others } = labels;
  const info = findType(secretName ?? (typeof kind === 'string' ? kind : ''));
  const hasNamespace = !isSecret && typeof namespace === 'string' && (info === undefined || !isClusterWide(info));
  const flat = isSecret ? { data: (isObject(data) ? data['value'] : undefined) ?? '' } : isObject(spec) ? spec : {};
  return {
    type: secretName ?? kind ?? null,
    name: name ?? null,
    ...(info?.scope === 'Mesh' && { mesh: meshLabel ?? meshField ?? 'default' }),
    labels: { ...others, ...(hasNamespace && { [label.namespace]: namespace }) },
    ...(info?.codec.kind === 'proto' ? flat : { spec: spec ?? {} }),
  };
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
