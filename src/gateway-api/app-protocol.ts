// The protocol of a service port (GEP-718 «API», D25): its appProtocol, or the annotation if that is unset.
import { isObject } from '../resource/read-json.ts';
import type { JsonObject, Labels } from '../resource/types.ts';
import type { Referent, ServicePort } from './service-resolver.ts';

export const PROTOCOL_ANNOTATION = 'gateway.networking.k8s.io/app-protocol';

/** The protocol for a proxy of the mesh; null where none is specified. */
type AppProtocol = 'tcp' | 'http' | 'http2' | 'grpc';

/** The mesh's own names, and those that Kubernetes gives to the same protocols. */
const KNOWN: ReadonlyMap<string, AppProtocol> = new Map([
  ['tcp', 'tcp'],
  ['http', 'http'],
  ['http2', 'http2'],
  ['grpc', 'grpc'],
  ['kubernetes.io/h2c', 'http2'],
  ['kubernetes.io/ws', 'http'],
]);

/** Whether a proxy of the mesh speaks the protocol of this name. */
export function isKnownProtocol(text: string): boolean {
  return KNOWN.has(text.toLowerCase());
}

/** The protocol of a port; null if it is unset; an unsupported protocol as text. */
export function appProtocolOf(referent: Referent, port: ServicePort): AppProtocol | null | { readonly unsupported: string } {
  const { annotations = {} } = referent;
  const annotation = Object.hasOwn(annotations, PROTOCOL_ANNOTATION) ? annotations[PROTOCOL_ANNOTATION] : undefined;
  const text = port.appProtocol || annotation || '';
  return text === '' ? null : (KNOWN.get(text.toLowerCase()) ?? { unsupported: text });
}

/**
 * Gives the ports of a MeshService that have no protocol the one of the annotation, which a stored resource has among its labels. A
 * default must not replace it.
 */
export function withAnnotatedProtocol(labels: Labels, spec: JsonObject): JsonObject {
  const protocol = KNOWN.get(labels[PROTOCOL_ANNOTATION]?.toLowerCase() ?? '');
  const { ports } = spec;
  if (protocol === undefined || !Array.isArray(ports)) return spec;
  const isUnset = (port: unknown): port is JsonObject => isObject(port) && (port['appProtocol'] ?? null) === null;
  return { ...spec, ports: ports.map((port) => (isUnset(port) ? { ...port, appProtocol: protocol } : port)) };
}
