// The MeshIdentity of a proxy. Of several that select it one counts, as in Kuma (xds 6).
import { compareText } from '../base/compare-text.ts';
import { parseMeshIdentity, selectsProxy, spiffeIdOf, trustDomainOf } from '../resource/mesh-identity.ts';
import { homeZoneOf } from '../resource/ownership.ts';
import type { Resource } from '../resource/types.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { MeshIndex } from './mesh-index.ts';

export type ProxyIdentity = {
  /** The MeshIdentity. */
  readonly resource: Resource;
  readonly kri: string;
  readonly spiffeId: string;
  readonly trustDomain: string;
};

/**
 * The identity of a proxy: among the MeshIdentities of its zone that are ready and select it, the one with the most labels, then the
 * first by name. Null without one, or if its templates need a value that the proxy lacks.
 */
export function proxyIdentity(index: MeshIndex, { labels, zone }: Pick<DataplaneProxy, 'labels' | 'zone'>): ProxyIdentity | null {
  const [chosen] = [...index.resources('MeshIdentity')]
    .filter((row) => homeZoneOf(row, zone) === zone)
    .map((resource) => ({ resource, identity: parseMeshIdentity(resource) }))
    .filter(({ identity }) => selectsProxy(identity, labels))
    .map(({ resource, identity }) => ({ resource, identity, size: Object.keys(identity.matchLabels ?? {}).length }))
    .toSorted((a, b) => b.size - a.size || compareText(a.resource.name, b.resource.name));
  if (chosen === undefined) return null;
  const spiffeId = spiffeIdOf(chosen.identity, labels, index.mesh, zone);
  const trustDomain = trustDomainOf(chosen.identity, index.mesh, zone);
  if (spiffeId === null || trustDomain === null) return null;
  return { resource: chosen.resource, kri: index.kriOf(chosen.resource), spiffeId, trustDomain };
}
