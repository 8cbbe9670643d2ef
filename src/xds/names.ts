// The names of Envoy resources, the same in listeners, routes, clusters and statistics (xds 2).
import { matchesHash } from '../policy/route-rules.ts';
import type { Section } from '../policy/dataplane-proxy.ts';
import type { JsonObject } from '../resource/types.ts';

/** Matches every request: what a route configuration ends with. */
export const CATCH_ALL: JsonObject[] = [{ path: { value: '/', type: 'PathPrefix' } }];

/** Listener, cluster, route configuration and virtual host of an inbound. */
export function inboundName({ section }: Pick<Section, 'section'>): string {
  return `self_inbound_dp_${section}`;
}

/** A route that a MeshHTTPRoute gave: its KRI with the item of `to[]` as section. */
export function routeName(kri: string, toIndex: number): string {
  return `${kri}rule_${String(toIndex)}`;
}

/** A route that no policy gave: the hash of its matches. */
export const catchAllRouteName = matchesHash(CATCH_ALL);
