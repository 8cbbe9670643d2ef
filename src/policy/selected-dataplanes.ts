// The proxies behind a service, by its selector (policies 2.7, 2.9, D15). An external service has none.
import { displayNameOf } from '../resource/labels.ts';
import type { Labels, Resource } from '../resource/types.ts';
import { compareText } from '../base/compare-text.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { MeshIndex } from './mesh-index.ts';
import { placeOf } from './parse-policy.ts';
import { isObject, objectOf, textMapOf, textOf } from '../resource/read-json.ts';

/**
 * By display name. Of a MeshService: proxies of its own zone, and of its namespace where it has one; no selector selects none.
 * Of a MeshMultiZoneService: those of all the MeshServices that carry its labels.
 */
export function selectedDataplanes(index: MeshIndex, service: Resource): DataplaneProxy[] {
  const services = service.type === 'MeshMultiZoneService' ? partsOf(index, service) : [service];
  const proxies = new Set(services.flatMap((part) => proxiesOf(index, part)));
  return [...proxies].sort((a, b) => compareText(a.displayName, b.displayName) || compareText(a.kri, b.kri));
}

function partsOf(index: MeshIndex, { spec }: Resource): Resource[] {
  const labels = textMapOf(objectOf(objectOf(objectOf(spec['selector'])['meshService'])['matchLabels']));
  if (Object.keys(labels).length === 0) return [];
  return [...index.resources('MeshService')].filter((part) => carries(part.labels, labels));
}

function proxiesOf(index: MeshIndex, service: Resource): DataplaneProxy[] {
  const { zone, namespace } = placeOf(service);
  const isSelected = selectorOf(service);
  return [...index.proxies()].filter(
    (proxy) => proxy.zone === zone && (namespace === '' || proxy.namespace === namespace) && isSelected(proxy),
  );
}

function selectorOf({ spec }: Resource): (proxy: DataplaneProxy) => boolean {
  const selector = objectOf(spec['selector']);
  const name = textOf(objectOf(selector['dataplaneRef'])['name']);
  if (name !== '') return ({ resource }) => displayNameOf(resource) === name;
  const labels = textMapOf(objectOf(selector['dataplaneLabels'])['matchLabels']);
  if (Object.keys(labels).length > 0) return (proxy) => carries(proxy.labels, labels);
  const tags = isObject(selector['dataplaneTags']) ? textMapOf(selector['dataplaneTags']) : {};
  if (Object.keys(tags).length > 0) return ({ sections }) => sections.some((section) => carries(section.tags, tags));
  return () => false;
}

function carries(own: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => own[key] === value);
}
