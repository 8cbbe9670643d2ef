// A resource as a Kubernetes object and back. Kinds are those of Kuma's resources; secrets are `v1` Secrets with special types.
// Invariant: the result of `toKubernetes` is applied as the same resource, with the same key, labels and spec.
import type { Violation } from '../base/violations.ts';
import { isKnownProtocol, PROTOCOL_ANNOTATION, withAnnotatedProtocol } from '../gateway-api/app-protocol.ts';
import { isGatewayDocument, METADATA_KEYS } from '../gateway-api/parse-route.ts';
import { documentOf, GATEWAY_TYPES, universalOf } from '../gateway-api/stored-document.ts';
import { displayNameOf, label } from '../resource/labels.ts';
import { originOf } from '../resource/ownership.ts';
import { SYSTEM_NAMESPACE } from '../resource/policy-role.ts';
import { isObject, objectOf, textOf } from '../resource/read-json.ts';
import { keyHint } from '../resource/nearest-key.ts';
import { child } from '../resource/spec-path.ts';
import { isClusterWide, storedNameOf } from '../resource/stored-name.ts';
import { findType, type TypeInfo } from '../resource/type-registry.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import { COMPUTED_LABELS, type DocumentedResource, isBesideSpec } from './universal-form.ts';

const API_VERSION = 'kuma.io/v1alpha1';
/** `type` of the Kubernetes Secrets that are resources. */
const SECRET_TYPES: Readonly<Record<string, string>> = {
  Secret: 'system.kuma.io/secret',
  GlobalSecret: 'system.kuma.io/global-secret',
};

/** The keys at the top of an object. Kubernetes drops no other: it refuses them, or a typing error would empty the resource. */
const TOP_KEYS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'mesh', 'spec', 'status']);
const SECRET_KEYS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'type', 'data', 'stringData', 'immutable']);

/**
 * The object for `kubectl apply`, without the labels that each control plane computes: an API server refuses some of their values. Mesh and
 * Zone have no namespace. Others have that of their label, by default the system namespace.
 */
export function toKubernetes(info: TypeInfo, resource: DocumentedResource): JsonObject {
  if (GATEWAY_TYPES.has(info.name)) return documentOf(resource);
  const labels = labelsFor(info, resource);
  const namespace = isClusterWide(info) ? '' : (labels[label.namespace] ?? '');
  const metadata: JsonObject = {
    name: namespace === '' ? resource.name : displayNameOf(resource),
    ...(!isClusterWide(info) && { namespace: namespace || SYSTEM_NAMESPACE }),
    ...(Object.keys(labels).length > 0 && { labels: { ...labels } }),
  };
  const secretType = SECRET_TYPES[info.name];
  if (secretType !== undefined)
    return { apiVersion: 'v1', kind: 'Secret', metadata, type: secretType, data: { value: resource.spec['data'] ?? '' } };
  const head: JsonObject = { apiVersion: API_VERSION, kind: info.name };
  if (info.codec.kind === 'proto' && info.scope === 'Mesh') head['mesh'] = resource.mesh;
  return { ...head, metadata, spec: resource.spec, ...(info.hasStatus && { status: resource.status }) };
}

/** A zone of Kuma demands the origin of what is written in its system namespace. */
function labelsFor(info: TypeInfo, { labels, mesh }: DocumentedResource): Labels {
  const written = Object.entries(labels).filter(([key]) => !COMPUTED_LABELS.has(key));
  const isOfSystem = !isClusterWide(info) && (labels[label.namespace] ?? SYSTEM_NAMESPACE) === SYSTEM_NAMESPACE;
  return {
    ...Object.fromEntries(written),
    ...(originOf(labels) === 'zone' && isOfSystem && { [label.origin]: 'zone' }),
    ...(info.scope === 'Mesh' && { [label.mesh]: mesh }),
  };
}

/**
 * The object as a Kuma control plane on Universal answers it, for `kumactl export`: under the stored name, in the system namespace. kumactl
 * leaves out objects of other namespaces (rest-api 2.3).
 */
export function toSystemNamespace(info: TypeInfo, resource: DocumentedResource): JsonObject {
  const document = toKubernetes(info, resource);
  if (GATEWAY_TYPES.has(info.name) || isClusterWide(info) || resource.labels[label.namespace] === SYSTEM_NAMESPACE)
    return document;
  return { ...document, metadata: { ...objectOf(document['metadata']), name: resource.name, namespace: SYSTEM_NAMESPACE } };
}

/** The groups of APIs whose objects are resources here. */
const GROUPS = ['kuma.io/', 'gateway.networking.k8s.io/'];
/** Kinds of Gateway API that belong to the cluster, and of Kuma that are for the pods of their own cluster alone. */
const CLUSTER_KINDS: ReadonlySet<string> = new Set([
  ...['GatewayClass', 'Gateway', 'ReferenceGrant'],
  ...['ContainerPatch', 'MeshGatewayConfig'],
]);
const SECRET_TYPE_PREFIX = 'system.kuma.io/';

/**
 * Whether an object of Kubernetes is none of a mesh, as ConfigMaps and Deployments beside the resources of a team are. A kind of Kuma under
 * another apiVersion is a mistake, and not foreign.
 */
export function isForeign(document: JsonObject): boolean {
  const { apiVersion, kind, type } = document;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return false;
  if (CLUSTER_KINDS.has(kind)) return true;
  if (apiVersion === 'v1' && kind === 'Secret') return typeof type !== 'string' || !type.startsWith(SECRET_TYPE_PREFIX);
  return !GROUPS.some((group) => apiVersion.startsWith(group)) && findType(kind) === undefined;
}

/** Whether an object stands in the system namespace and does not say by a label whether its resource has that namespace. */
export function isInSystemNamespace(document: JsonObject): boolean {
  const { namespace, labels } = objectOf(document['metadata']);
  const info = findType(textOf(document['kind']));
  return (
    namespace === SYSTEM_NAMESPACE &&
    objectOf(labels)[label.namespace] === undefined &&
    info !== undefined &&
    !info.adminOnly &&
    !isClusterWide(info)
  );
}

type UniversalDocument = { readonly body: JsonObject } | { readonly violation: Violation };

/**
 * Reads objects of `kuma.io/v1alpha1`, Kuma's Secrets and Gateway API routes into Universal form, or returns the first violation. The
 * caller checks name, mesh and spec.
 */
export function fromKubernetes(document: JsonObject): UniversalDocument {
  const fault = (field: string, reason: string): UniversalDocument => ({ violation: { field, reason } });
  if (isGatewayDocument(document)) {
    const read = universalOf(document);
    return 'body' in read ? { body: withStoredName(read.body) } : read;
  }
  const { apiVersion, kind, mesh, metadata, type } = document;
  const isSecret = apiVersion === 'v1' && kind === 'Secret';
  if (apiVersion !== API_VERSION && !isSecret)
    return fault('apiVersion', `must be ${API_VERSION} or of Gateway API, or leave it out and give type, name and mesh`);
  const secretName = Object.keys(SECRET_TYPES).find((name) => SECRET_TYPES[name] === type);
  if (isSecret && secretName === undefined) return fault('type', `must be ${Object.values(SECRET_TYPES).join(' or ')}`);
  const known = isSecret ? SECRET_KEYS : TOP_KEYS;
  const unknown = Object.keys(document).find((key) => !known.has(key));
  if (unknown !== undefined) return fault(unknown, `is not known here; a resource has ${[...known].slice(2).join(', ')}`);
  if (!isObject(metadata)) return fault('metadata', 'must be an object');
  const unknownMeta = Object.keys(metadata).find((key) => !METADATA_KEYS.includes(key));
  if (unknownMeta !== undefined)
    return fault(child('metadata', unknownMeta), `is not a known key; ${keyHint(unknownMeta, METADATA_KEYS)}`);
  const { name, labels = {} } = metadata;
  if (!isObject(labels)) return fault('metadata.labels', 'must be an object of strings');
  const info = findType(secretName ?? (typeof kind === 'string' ? kind : ''));
  const meshLabel = labels[label.mesh] ?? null;
  if (info?.scope === 'Mesh' && meshLabel !== null && (mesh ?? meshLabel) !== meshLabel)
    return fault('mesh', `must be ${JSON.stringify(meshLabel)}, as in the label ${label.mesh}`);
  const own = { ...labels };
  if (info === undefined || info.scope === 'Mesh') Reflect.deleteProperty(own, label.mesh);
  const namespace = isSecret || (info !== undefined && isClusterWide(info)) ? null : (metadata['namespace'] ?? null);
  if (namespace !== null) {
    if (typeof namespace !== 'string') return fault('metadata.namespace', 'must be a string');
    const named = own[label.namespace] ?? '';
    if (named !== '' && named !== namespace && namespace !== SYSTEM_NAMESPACE)
      return fault('metadata.namespace', `must be ${JSON.stringify(named)}, as in the label ${label.namespace}`);
    // Kubernetes requires a namespace. A resource without one has the system namespace there.
    if (namespace !== SYSTEM_NAMESPACE && namespace !== '') own[label.namespace] = namespace;
  }
  const content = isSecret ? secretContent(document) : specContent(info, document, objectOf(metadata['annotations']));
  if ('violation' in content) return content;
  const body = {
    type: secretName ?? kind ?? null,
    name: name ?? null,
    ...(info?.scope === 'Mesh' && { mesh: meshLabel ?? mesh ?? 'default' }),
    labels: own,
    ...content.body,
  };
  // An object of the system namespace with the label of another one has its stored name.
  const isStored = metadata['namespace'] === SYSTEM_NAMESPACE && (own[label.namespace] ?? SYSTEM_NAMESPACE) !== SYSTEM_NAMESPACE;
  return { body: isStored ? body : withStoredName(body) };
}

/** The value of a Secret: `data.value` in base64 or `stringData.value` as text, which has precedence (Kubernetes «Secret»). */
function secretContent({ data = null, stringData = null }: JsonObject): UniversalDocument {
  for (const [field, given] of Object.entries({ data, stringData }))
    if (given !== null && !isObject(given)) return { violation: { field, reason: 'must be an object with value' } };
  const text = objectOf(stringData)['value'] ?? null;
  if (text !== null) {
    if (typeof text !== 'string') return { violation: { field: 'stringData.value', reason: 'must be a string' } };
    return { body: { data: Buffer.from(text).toString('base64') } };
  }
  const value = objectOf(data)['value'] ?? null;
  if (typeof value === 'string') return { body: { data: value } };
  const reason = value === null ? 'must be given: the secret in base64, or as text in stringData.value' : 'must be a string';
  return { violation: { field: 'data.value', reason } };
}

/** The spec: at the top level for a protobuf type, else under `spec`. Without one it is empty. */
function specContent(info: TypeInfo | undefined, { spec }: JsonObject, annotations: JsonObject): UniversalDocument {
  const given = spec ?? {};
  if (!isObject(given)) return { violation: { field: 'spec', reason: 'must be an object' } };
  if (info?.codec.kind === 'proto') {
    const key = Object.keys(given).find(isBesideSpec);
    if (key === undefined) return { body: given };
    const reason = 'must not be in the spec: kind is the type, and metadata has the name, the namespace and the labels';
    return { violation: { field: `spec.${key}`, reason } };
  }
  const protocol = info?.name === 'MeshService' ? annotations[PROTOCOL_ANNOTATION] : undefined;
  if (protocol === undefined) return { body: { spec: given } };
  if (typeof protocol === 'string' && isKnownProtocol(protocol))
    return { body: { spec: withAnnotatedProtocol({ [PROTOCOL_ANNOTATION]: protocol }, given) } };
  return {
    violation: {
      field: `metadata.annotations["${PROTOCOL_ANNOTATION}"]`,
      reason: 'must be tcp, http, http2, grpc, kubernetes.io/h2c or kubernetes.io/ws',
    },
  };
}

/** A name with a dot may be a display name or a stored name. With its namespace it is a stored name. */
function withStoredName(body: JsonObject): JsonObject {
  const { type, name } = body;
  const namespace = objectOf(body['labels'])[label.namespace];
  const info = typeof type === 'string' ? findType(type) : undefined;
  if (info === undefined || isClusterWide(info) || typeof name !== 'string' || !name.includes('.')) return body;
  if (typeof namespace !== 'string' || namespace === '') return body;
  return { ...body, name: storedNameOf({ displayName: name, namespace }) };
}
