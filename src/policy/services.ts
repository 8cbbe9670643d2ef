// The facts of a service for policies: its ports, as sections of its KRI, and the selected proxies (policies 2.7 to 2.9, 3.1, D15).
import { numberOf, objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import { isMember } from '../resource/service-members.ts';
import { isServiceType } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { MeshIndex } from './mesh-index.ts';
import { byDisplayName } from './sorted-proxies.ts';

export type ServicePort = { readonly section: string; readonly port: number; readonly protocol: string };

/** Whether proxies read requests of this protocol, and not only bytes. */
export function speaksHttp(protocol: string): boolean {
  return protocol === 'http' || protocol === 'http2' || protocol === 'grpc';
}

/** Ports of a MeshService, MeshMultiZoneService or MeshExternalService; empty for every other type. */
export function servicePorts({ type, spec }: Resource): ServicePort[] {
  if (type === 'MeshExternalService') {
    const match = objectOf(spec['match']);
    const port = numberOf(match['port']);
    return port === 0 ? [] : [{ section: String(port), port, protocol: textOf(match['protocol']) || 'tcp' }];
  }
  if (!isServiceType(type)) return [];
  return objectsOf(spec['ports']).map((given) => {
    const port = numberOf(given['port']);
    return { section: textOf(given['name']) || String(port), port, protocol: textOf(given['appProtocol']) || 'tcp' };
  });
}

/**
 * The proxies of a service, sorted by display name. A MeshService selects proxies of its own zone and namespace, and none without a
 * selector. A MeshMultiZoneService has the proxies of all MeshServices that its selector matches. An external service has none.
 */
export function selectedDataplanes(index: MeshIndex, service: Resource): readonly DataplaneProxy[] {
  const services = servicesBehind(index, service);
  const [only] = services;
  if (only === undefined) return [];
  if (services.length === 1) return index.selections.proxiesOf(only);
  return [...new Set(services.flatMap((one) => index.selections.proxiesOf(one)))].sort(byDisplayName);
}

/** The MeshServices behind a service: itself, or the members of a MeshMultiZoneService; none behind an external service. */
export function servicesBehind(index: MeshIndex, service: Resource): Resource[] {
  if (service.type === 'MeshService') return [service];
  return service.type === 'MeshMultiZoneService' ? memberServices(index, service) : [];
}

/** The MeshServices of a MeshMultiZoneService. */
export function memberServices(index: MeshIndex, multiZone: Resource): Resource[] {
  return [...index.resources('MeshService')].filter((service) => isMemberOf(multiZone, service));
}

/** Whether a MeshMultiZoneService has this MeshService; one without a selector has none. */
export function isMemberOf({ spec }: Resource, service: Resource): boolean {
  return isMember(spec, service.labels);
}
