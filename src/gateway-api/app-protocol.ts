// Which protocol a service's port speaks (GEP-718 «API», D25): its appProtocol; only where that is unset the annotation.
import { isObject } from '../resource/read-json.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import type { Referent, ServicePort } from './service-resolver.ts';

export const PROTOCOL_ANNOTATION = 'gateway.networking.k8s.io/app-protocol';

/** The protocol for a proxy of the mesh; null where none is specified. */
export type AppProtocol = 'tcp' | 'http' | 'http2' | 'grpc';

/** The mesh's own names, and those that Kubernetes gives to the same protocols. */
const KNOWN: ReadonlyMap<string, AppProtocol> = new Map([
  ['tcp', 'tcp'],
  ['http', 'http'],
  ['http2', 'http2'],
  ['grpc', 'grpc'],
  ['kubernetes.io/h2c', 'http2'],
  ['kubernetes.io/ws', 'http'],
]);

/** The protocol of a port, null where it is unset, or the text that no proxy here can speak. */
export function appProtocolOf(referent: Referent, port: ServicePort): AppProtocol | null | { readonly unsupported: string } {
  const { annotations = {} } = referent;
  const annotation = Object.hasOwn(annotations, PROTOCOL_ANNOTATION) ? annotations[PROTOCOL_ANNOTATION] : undefined;
  const text = port.appProtocol || annotation || '';
  return text === '' ? null : (KNOWN.get(text.toLowerCase()) ?? { unsupported: text });
}

/**
 * The spec of a MeshService whose ports have the protocol of the annotation, which a resource has among its labels, where
 * they have none of their own: a default would hide that none was specified.
 */
export function withAnnotatedProtocol(labels: Labels, spec: JsonObject): JsonObject {
  const protocol = KNOWN.get(labels[PROTOCOL_ANNOTATION]?.toLowerCase() ?? '');
  const { ports } = spec;
  if (protocol === undefined || !Array.isArray(ports)) return spec;
  const isUnset = (port: unknown): port is JsonObject => isObject(port) && (port['appProtocol'] ?? null) === null;
  return { ...spec, ports: ports.map((port) => (isUnset(port) ? { ...port, appProtocol: protocol } : port)) };
}
