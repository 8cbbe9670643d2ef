// Which Dataplanes a MeshService selects: by name, by labels, or by the tags of one inbound (policies 2.7, D15).
import { label } from '../resource/labels.ts';
import { objectOf, textMapOf, textOf } from '../resource/read-json.ts';
import { storedNameOf } from '../resource/stored-name.ts';
import type { JsonObject, Labels, Resource } from '../resource/types.ts';
import type { DataplaneProxy } from './dataplane-proxy.ts';
import { placeOf } from './parse-policy.ts';
import { labelPairs, pairsOf, type Pair } from './selector-index.ts';

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

/** All pairs by which a MeshService may select this Dataplane. */
export function dataplanePairs(dataplane: SelectableDataplane): Pair[] {
  return [
    ...labelPairs(dataplane.labels),
    ...dataplane.sections.flatMap(({ tags }) => pairsOf('tag', tags)),
    ...dataplaneNames(dataplane).map((name): Pair => ['name', name]),
  ];
}

/** The pairs that every Dataplane of a MeshService has; null if it selects nothing. */
export function serviceSelector({ labels: own, spec }: Pick<Resource, 'labels' | 'spec'>): readonly Pair[] | null {
  const { name, labels, tags } = dataplaneSelector(spec);
  const namespace = own[label.namespace] ?? '';
  const place = namespace === '' ? [] : labelPairs({ [label.namespace]: namespace });
  if (name !== '') return [['name', name], ...place];
  if (Object.keys(labels).length > 0) return [...labelPairs(labels), ...place];
  return Object.keys(tags).length > 0 ? [...pairsOf('tag', tags), ...place] : null;
}

/** The selector of a MeshService. Its first part that is not empty counts; without one it selects nothing. */
function dataplaneSelector(spec: JsonObject): { readonly name: string; readonly labels: Labels; readonly tags: Labels } {
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
  const [ofLabels, ofTags] = [Object.entries(labels), Object.entries(tags)];
  if (ofLabels.length > 0) return (dataplane) => carries(dataplane.labels, ofLabels);
  if (ofTags.length > 0) return ({ sections }) => sections.some((section) => carries(section.tags, ofTags));
  return () => false;
}

function carries(own: Labels, wanted: readonly (readonly [key: string, value: string])[]): boolean {
  return wanted.every(([key, value]) => own[key] === value);
}
