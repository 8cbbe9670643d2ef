// The outbounds of a proxy: the services that it lists, and those that it reaches (MADR 063: `to[]` selects outbounds). Proxies with equal
// reach have one list.
import { compareText } from '../base/compare-text.ts';
import { perObject } from '../base/per-object.ts';
import { defaultReach } from '../resource/labels.ts';
import { isObject, numberOf, objectOf, objectsOf } from '../resource/read-json.ts';
import { isServiceType, SERVICE_TYPES } from '../resource/type-registry.ts';
import type { Json } from '../resource/types.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { MeshIndex } from './mesh-index.ts';
import { outboundsTo, type Outbound } from './outbounds.ts';
import { describeRef, targetRefOf } from './target-ref.ts';
import { redirectsOutbounds } from './transparent-proxying.ts';
import { onlyLeads } from './zone-proxy-reach.ts';

/** What a proxy reaches without a declared outbound. */
export type Reachable = {
  /** Each once, sorted by KRI. */
  readonly outbounds: readonly Outbound[];
  /** The references that mean no port, by their place in the list. */
  readonly unmeant: readonly { readonly at: number; readonly reason: string }[];
};

const NOTHING: Reachable = { outbounds: [], unmeant: [] };

/**
 * The outbounds of a proxy, each once, sorted by KRI. With redirected connections: the ports that it reaches, and those of
 * `networking.outbound`. Others have those of `networking.outbound`, else the ports that they reach. A zone proxy without inbounds has none.
 */
export function outboundsOf(index: MeshIndex, proxy: DataplaneProxy): readonly Outbound[] {
  if (onlyLeads(proxy)) return [];
  const listed = objectsOf(objectOf(proxy.resource.spec['networking'])['outbound']).map(({ backendRef }) => backendRef);
  if (listed.length === 0) return reachableFrom(index, proxy).outbounds;
  const declared = listed.flatMap((ref) => outboundsOfRef(index, proxy, ref));
  return sorted(redirectsOutbounds(proxy.resource) ? [...declared, ...reachableFrom(index, proxy).outbounds] : declared);
}

/**
 * The ports of `reachableBackends`, else those that the Mesh says: every port of every service that the zone of the proxy has, or none. Proxies with
 * equal reach get the same object until a service changes.
 */
export function reachableFrom(index: MeshIndex, proxy: DataplaneProxy): Reachable {
  if (onlyLeads(proxy)) return NOTHING;
  const refs = reachableRefs(index, proxy);
  const key = refs === null ? `all ${proxy.zone}` : JSON.stringify([proxy.zone, proxy.namespace, refs]);
  const known = knownOf(index);
  if (known.revision !== index.serviceRevision) {
    known.revision = index.serviceRevision;
    known.byKey.clear();
  }
  let reachable = known.byKey.get(key);
  if (reachable === undefined) {
    reachable = refs === null ? { outbounds: everyOutbound(index, proxy.zone), unmeant: [] } : reachOfRefs(index, proxy, refs);
    known.byKey.set(key, reachable);
  }
  return reachable;
}

const knownOf = perObject<MeshIndex, { revision: number; byKey: Map<string, Reachable> }>(() => ({
  revision: -1,
  byKey: new Map(),
}));

/** Null: it reaches all. */
function reachableRefs(index: MeshIndex, { resource, zone }: DataplaneProxy): readonly Json[] | null {
  const given = objectOf(objectOf(resource.spec['networking'])['transparentProxying'])['reachableBackends'];
  if (isObject(given)) return objectsOf(given['refs']);
  return redirectsOutbounds(resource) && defaultReach(index.meshResource().labels, zone) === 'none' ? [] : null;
}

function everyOutbound(index: MeshIndex, zone: string): Outbound[] {
  const services = SERVICE_TYPES.flatMap((kind) => [...index.visible(kind, zone)]);
  return sorted(services.flatMap((service) => outboundsTo(index, service)));
}

function reachOfRefs(index: MeshIndex, proxy: DataplaneProxy, refs: readonly Json[]): Reachable {
  const found = refs.map((ref) => outboundsOfRef(index, proxy, ref));
  const unmeant = refs.flatMap((ref, at) => (found[at]?.length === 0 ? [{ at, reason: whyNone(index, proxy, ref) }] : []));
  return { outbounds: sorted(found.flat()), unmeant };
}

function outboundsOfRef(index: MeshIndex, proxy: DataplaneProxy, given: Json | undefined): Outbound[] {
  const ref = targetRefOf(objectOf(given));
  if (!isServiceType(ref.kind)) return [];
  const port = numberOf(objectOf(given)['port']);
  return index
    .resolve(ref, proxy, proxy.zone)
    .flatMap((service) => outboundsTo(index, service))
    .filter(
      (outbound) => (port === 0 || outbound.port === port) && (ref.sectionName === '' || outbound.section === ref.sectionName),
    );
}

function whyNone(index: MeshIndex, proxy: DataplaneProxy, given: Json): string {
  const ref = targetRefOf(given);
  if (!isServiceType(ref.kind)) return `must have kind ${SERVICE_TYPES.join(', ')}`;
  const port = numberOf(objectOf(given)['port']);
  const named = describeRef({ ...ref, sectionName: '' });
  if (index.resolve(ref, proxy, proxy.zone).length === 0) return `${named} does not exist`;
  const wanted = port === 0 ? ref.sectionName : String(port);
  return `${named} has no port${wanted === '' ? '' : ` ${wanted}`}`;
}

function sorted(found: readonly Outbound[]): Outbound[] {
  const unique = new Map(found.map((outbound) => [outbound.kri, outbound]));
  return [...unique.values()].sort((a, b) => compareText(a.kri, b.kri));
}
