// The proxies behind a MeshService, by its selector (policies 2.7, decisions D15).
import { displayNameOf } from '../resource/labels.ts';
import type { Labels, Resource } from '../resource/types.ts';
import { compareText } from './compare-text.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import type { MeshIndex } from './mesh-index.ts';
import { placeOf } from './parse-policy.ts';
import { isObject, objectOf, textMapOf, textOf } from './read-json.ts';

/** Proxies of the service's own zone, and of its namespace where it has one; by display name. No selector selects none. */
export function selectedDataplanes(index: MeshIndex, service: Resource): DataplaneProxy[] {
  const { zone, namespace } = placeOf(service);
  const isSelected = selectorOf(service);
  return [...index.proxies()]
    .filter((proxy) => proxy.zone === zone && (namespace === '' || proxy.namespace === namespace) && isSelected(proxy))
    .sort((a, b) => compareText(a.displayName, b.displayName) || compareText(a.kri, b.kri));
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
