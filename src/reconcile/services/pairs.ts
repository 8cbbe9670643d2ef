// Selectors and their items, both as pairs of strings: a selector selects the items that have all of its pairs. Invariant: pairs of
// different sorts (label, inbound tag, name) never meet, because their keys differ.
import { isObject, objectOf, textMapOf, textOf } from '../../resource/read-json.ts';
import type { JsonObject, Labels } from '../../resource/types.ts';
import type { DataplaneFacts } from './dataplane-facts.ts';

export type Pair = readonly [key: string, value: string];

/** A selector carries it too, so that one without labels finds everything (policies 2.9). */
const EVERY: Pair = ['every', ''];

/** The pairs of a resource are its labels. The pairs of a `matchLabels` are its required labels. */
export function labelPairs(labels: Labels): Pair[] {
  return [...pairsOf('label', labels), EVERY];
}

/** Everything by which a MeshService may select this Dataplane (policies 2.7). */
export function dataplanePairs({ name, displayName, labels, inbounds }: DataplaneFacts): Pair[] {
  return [
    ...labelPairs(labels),
    ...inbounds.flatMap(({ tags }) => pairsOf('tag', tags)),
    ['name', name],
    ...(displayName === name ? [] : [['name', displayName] as const]),
  ];
}

/** What `spec.selector` of a MeshService asks for, null if it selects nothing. Of two selectors the first counts. */
export function serviceSelector(spec: JsonObject): readonly Pair[] | null {
  const { dataplaneRef, dataplaneLabels, dataplaneTags } = objectOf(spec['selector']);
  const name = textOf(objectOf(dataplaneRef)['name']);
  if (name !== '') return [['name', name]];
  if (isObject(dataplaneLabels)) return labelPairs(textMapOf(dataplaneLabels['matchLabels']));
  const tags = pairsOf('tag', textMapOf(dataplaneTags));
  return tags.length === 0 ? null : tags;
}

/** Whether a Dataplane that carries all pairs is really selected: tags must stand on one inbound together (D15). */
export function isSelected({ inbounds }: DataplaneFacts, spec: JsonObject): boolean {
  const { dataplaneRef, dataplaneLabels, dataplaneTags } = objectOf(spec['selector']);
  if (textOf(objectOf(dataplaneRef)['name']) !== '' || isObject(dataplaneLabels)) return true;
  const wanted = Object.entries(textMapOf(dataplaneTags));
  return wanted.length < 2 || inbounds.some(({ tags }) => wanted.every(([key, value]) => tags[key] === value));
}

function pairsOf(sort: string, labels: Labels): Pair[] {
  return Object.entries(labels).map(([key, value]) => [`${sort} ${key}`, value]);
}
