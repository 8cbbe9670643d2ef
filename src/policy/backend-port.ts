// The port of a service that a `backendRef` means (policies 1.4). A reference without a port means the only port of its service, as in Kuma.
// Invariant: a MeshHTTPRoute leads to ports of HTTP alone, because its requests mean nothing to another protocol.
import type { ServiceRef } from '../policies/routes.ts';
import type { Resource } from '../resource/types.ts';
import type { MeshIndex } from './mesh-index.ts';
import { outboundsTo, type Outbound } from './outbounds.ts';
import type { Place } from './parse-policy.ts';
import { speaksHttp } from './services.ts';
import { describeRef, serviceTarget } from './target-ref.ts';

/** The policy or the proxy that has the reference. */
export type Referrer = Place & { readonly type?: string };

/** Ports that a sentence lists. */
const MAX_PORTS = 5;

/**
 * The port that a reference means, else the reason why it means none. Of several services the oldest counts.
 * @param zone of the asking proxy
 */
export function backendPort(index: MeshIndex, ref: ServiceRef, from: Referrer, zone: string): Outbound | string {
  const oldest = index.resolveOldest(serviceTarget(ref), from, zone);
  return oldest === undefined ? `${describeService(ref)} does not exist` : usablePort(index, oldest, ref, from);
}

/** The reason why a reference means no port of any service of the mesh; null if it means one in some zone. */
export function whyNoPort(index: MeshIndex, ref: ServiceRef, from: Referrer): string | null {
  const ports = index.resolve(serviceTarget(ref), from, '').map((service) => usablePort(index, service, ref, from));
  if (ports.some((port) => typeof port !== 'string')) return null;
  return ports.find((port) => typeof port === 'string') ?? `${describeService(ref)} does not exist`;
}

function usablePort(index: MeshIndex, service: Resource, ref: ServiceRef, { type }: Referrer): Outbound | string {
  const found = portIn(index, service, ref);
  if (typeof found === 'string' || type !== 'MeshHTTPRoute' || speaksHttp(found.protocol)) return found;
  return `port ${String(found.port)} of ${describeService(ref)} has the protocol ${found.protocol}, and HTTP routes need http, http2 or grpc`;
}

function portIn(index: MeshIndex, service: Resource, ref: ServiceRef): Outbound | string {
  const ports = outboundsTo(index, service);
  const { sectionName: section = '', port = 0 } = ref;
  const [only, ...others] = ports;
  const found =
    section === ''
      ? port === 0 && others.length === 0
        ? only
        : ports.find((candidate) => candidate.port === port)
      : ports.find((candidate) => candidate.section === section);
  if (found !== undefined) return found;
  const named = describeService(ref);
  if (section !== '' || port !== 0) return `${named} has no port ${section === '' ? String(port) : section}`;
  if (only === undefined) return `${named} has no port`;
  const listed = ports.slice(0, MAX_PORTS).map((candidate) => String(candidate.port));
  const more = ports.length > MAX_PORTS ? ' and others' : '';
  return `${named} has ${String(ports.length)} ports, so port must be one of ${listed.join(', ')}${more}`;
}

function describeService(ref: ServiceRef): string {
  return describeRef({ ...serviceTarget(ref), sectionName: '' });
}
