// The facts of a service for policies: its ports, as sections of its KRI, and the selected proxies (policies 2.7 to 2.9, 3.1, D15).
import type { JsonObject, Labels, Resource } from '../resource/types.ts';
import { numberOf, objectOf, objectsOf, textMapOf, textOf } from '../resource/read-json.ts';
import { label } from '../resource/labels.ts';
import { isMember } from '../resource/service-members.ts';
import { storedNameOf } from '../resource/stored-name.ts';
import { isServiceType } from '../resource/type-registry.ts';
import { compareText } from '../base/compare-text.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { MeshIndex } from './mesh-index.ts';
import { PairIndex } from './pair-index.ts';
import { placeOf } from './parse-policy.ts';

export type ServicePort = { readonly section: string; readonly port: number; readonly protocol: string };

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
export function selectedDataplanes(index: MeshIndex, service: Resource): DataplaneProxy[] {
  const selectors = servicesBehind(index, service).map(proxySelector);
  return [...index.proxies()].filter((proxy) => selectors.some((selects) => selects(proxy))).sort(byDisplayName);
}

function byDisplayName(a: DataplaneProxy, b: DataplaneProxy): number {
  return compareText(a.displayName, b.displayName) || compareText(a.kri, b.kri);
}

/** Finds the proxies of many MeshServices of a mesh as it is now: like `selectedDataplanes`, without a look at every proxy for each. */
export function findsProxies(index: MeshIndex): (service: Resource) => DataplaneProxy[] {
  const byPair = new PairIndex<DataplaneProxy>();
  const byName = new PairIndex<DataplaneProxy>();
  for (const proxy of index.proxies()) {
    for (const [key, value] of proxy.pairs) byPair.add(key, value, proxy);
    for (const name of dataplaneNames(proxy)) byName.add('', name, proxy);
  }
  return (service) => {
    const { name, labels, tags } = dataplaneSelector(service.spec);
    const [pair] = Object.entries(Object.keys(labels).length > 0 ? labels : tags);
    const candidates = name !== '' ? byName.get('', name) : pair === undefined ? [] : byPair.get(...pair);
    return [...candidates].filter(proxySelector(service)).sort(byDisplayName);
  };
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

/** Whether a MeshService selects a proxy. */
export function proxySelector(service: Resource): (proxy: DataplaneProxy) => boolean {
  const { zone } = placeOf(service);
  const selects = dataplaneMatcher(service);
  return (proxy) => proxy.zone === zone && selects(proxy);
}

/** What a MeshService selects a Dataplane by. */
export type SelectableDataplane = Pick<DataplaneProxy, 'displayName' | 'labels'> & {
  readonly sections: readonly { readonly tags: Labels }[];
};

/**
 * Whether a MeshService selects a Dataplane of its zone (policies 2.7). A MeshService in a namespace selects Dataplanes of this namespace
 * alone.
 */
export function dataplaneMatcher(service: Pick<Resource, 'labels' | 'spec'>): (dataplane: SelectableDataplane) => boolean {
  const { namespace } = placeOf(service);
  const selects = selectorOf(service);
  return (dataplane) => (namespace === '' || dataplane.labels[label.namespace] === namespace) && selects(dataplane);
}

/** The names by which a `dataplaneRef` means a Dataplane: its display name, and the name of its row in its own zone. */
export function dataplaneNames({ displayName, labels }: Pick<SelectableDataplane, 'displayName' | 'labels'>): string[] {
  const storedName = storedNameOf({ displayName, namespace: labels[label.namespace] ?? '' });
  return storedName === displayName ? [displayName] : [displayName, storedName];
}

/** The selector of a MeshService. Its first part that is not empty counts; without one it selects nothing. */
export function dataplaneSelector(spec: JsonObject): { readonly name: string; readonly labels: Labels; readonly tags: Labels } {
  const { dataplaneRef, dataplaneLabels, dataplaneTags } = objectOf(spec['selector']);
  return {
    name: textOf(objectOf(dataplaneRef)['name']),
    labels: textMapOf(objectOf(dataplaneLabels)['matchLabels']),
    tags: textMapOf(dataplaneTags),
  };
}

function selectorOf({ spec }: Pick<Resource, 'spec'>): (dataplane: SelectableDataplane) => boolean {
  const { name, labels, tags } = dataplaneSelector(spec);
  if (name !== '') return (dataplane) => dataplaneNames(dataplane).includes(name);
  if (Object.keys(labels).length > 0) return (dataplane) => carries(dataplane.labels, labels);
  if (Object.keys(tags).length > 0) return ({ sections }) => sections.some((section) => carries(section.tags, tags));
  return () => false;
}

function carries(own: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => own[key] === value);
}
