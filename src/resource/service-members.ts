// The MeshServices of a MeshMultiZoneService (policies 2.9). Reconcilers, proxies and tables use it. Pure.
import { objectOf, textMapOf } from './read-json.ts';
import type { JsonObject, Labels } from './types.ts';

/**
 * The labels that each MeshService of a MeshMultiZoneService has (policies 2.9).
 * @param multiZone the spec of the MeshMultiZoneService
 * @returns no labels for a selector without labels, which a check refuses: it selects nothing
 */
export function memberLabels(multiZone: JsonObject): Labels {
  return textMapOf(objectOf(objectOf(multiZone['selector'])['meshService'])['matchLabels']);
}

/**
 * Whether a MeshMultiZoneService has a MeshService (policies 2.9).
 * @param multiZone the spec of the MeshMultiZoneService
 * @param labels the labels of the MeshService
 */
export function isMember(multiZone: JsonObject, labels: Labels): boolean {
  const wanted = Object.entries(memberLabels(multiZone));
  return wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
}
