// The outbounds of a proxy: the services that it lists, or all reachable ones (MADR 063: `to[]` selects outbounds).
import type { Json, JsonObject, Resource } from '../resource/types.ts';
import { compareText } from '../base/compare-text.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { MeshIndex } from './mesh-index.ts';
import { isObject, numberOf, objectOf, objectsOf } from '../resource/read-json.ts';
import { servicePorts } from './services.ts';
import { targetRefOf } from './target-ref.ts';
import { onlyLeads } from './zone-proxy-reach.ts';
import { isServiceType, SERVICE_TYPES } from '../resource/type-registry.ts';

export type Outbound = {
  /** The KRI of the service with the section of the port. */
  readonly kri: string;
  /** The KRI of the service. */
  readonly base: string;
  readonly section: string;
  readonly resource: Resource;
  readonly port: number;
  readonly protocol: string;
};

/**
 * The outbounds of a proxy, sorted by KRI: those of `networking.outbound`, else every port of the `reachableBackends`, else every
 * port of every service of the mesh. A zone proxy without inbounds has none.
 */
export function outboundsOf(index: MeshIndex, proxy: DataplaneProxy): Outbound[] {
  if (onlyLeads(proxy)) return [];
  const networking = objectOf(proxy.resource.spec['networking']);
  const listed = objectsOf(networking['outbound']).map(({ backendRef }) => backendRef);
  const reachable = objectOf(networking['transparentProxying'])['reachableBackends'];
  const refs = listed.length > 0 ? listed : isObject(reachable) ? objectsOf(reachable['refs']) : null;
  const found =
    refs === null
      ? SERVICE_TYPES.flatMap((kind) => [...index.visible(kind, proxy.zone)]).flatMap((service) => outboundsTo(index, service))
      : refs.flatMap((ref) => outboundsOfRef(index, proxy, ref));
  const unique = new Map(found.map((outbound) => [outbound.kri, outbound]));
  return [...unique.values()].sort((a, b) => compareText(a.kri, b.kri));
}

const known = new WeakMap<Resource, readonly Outbound[]>();

/** The outbounds to a service, one for each port. They are made once: many proxies have them. */
export function outboundsTo(index: MeshIndex, resource: Resource): readonly Outbound[] {
  let outbounds = known.get(resource);
  if (outbounds === undefined) {
    const base = index.kriOf(resource);
    outbounds = servicePorts(resource).map(({ section, port, protocol }) => ({
      kri: base + section,
      base,
      section,
      resource,
      port,
      protocol,
    }));
    known.set(resource, outbounds);
  }
  return outbounds;
}

function outboundsOfRef(index: MeshIndex, proxy: DataplaneProxy, given: Json | undefined): Outbound[] {
  const object: JsonObject = objectOf(given);
  const ref = targetRefOf(object);
  if (!isServiceType(ref.kind)) return [];
  const port = numberOf(object['port']);
  return index
    .resolve(ref, proxy, proxy.zone)
    .flatMap((service) => outboundsTo(index, service))
    .filter((outbound) => port === 0 || outbound.port === port);
}
