// Proxies to which the connections of their machine are redirected. In a zone of this product they have the outbounds that their Dataplane lists,
// and no others; a Kuma zone gives them one for each service (xds 3.5).
import type { DataplaneProxy } from '../policy/dataplane-proxy.ts';
import { isObject, objectOf, objectsOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { peerVersionOf } from '../zone-status/peer-version.ts';

/** `zone`: the name of this zone; null on global. */
type Context = { readonly store: Pick<ResourceStore, 'get'>; readonly zone: string | null };

/** Whether a proxy has no outbounds though its Dataplane asks for those of all services, or of its `reachableBackends`. Rejects as the store does. */
export async function lacksOutbounds({ store, zone }: Context, { resource, zone: home }: DataplaneProxy): Promise<boolean> {
  if (!asksForAll(resource)) return false;
  if (zone !== null) return true;
  const insight = await store.get({ type: 'ZoneInsight', mesh: '', name: home });
  return insight !== undefined && peerVersionOf(insight.spec)?.isOwn === true;
}

/** What such a proxy does and does not, and what to write. */
export function lackOf({ spec }: Pick<Resource, 'spec'>): { readonly field: string; readonly reason: string } {
  const given = objectOf(objectOf(spec['networking'])['transparentProxying']);
  const field = `networking.transparentProxying${given['reachableBackends'] === undefined ? '' : '.reachableBackends'}`;
  const reason =
    'gives no outbounds: redirected connections to services of the mesh have no listener, no policy and no TLS. ' +
    'Inbounds and MeshPassthrough have their effect. List each service in networking.outbound, with the address and port that the application calls';
  return { field, reason };
}

function asksForAll({ spec }: Pick<Resource, 'spec'>): boolean {
  const { transparentProxying, outbound } = objectOf(spec['networking']);
  return isObject(transparentProxying) && objectsOf(outbound).length === 0;
}
