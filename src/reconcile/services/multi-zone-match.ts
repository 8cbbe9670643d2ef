// The MeshServices of all zones behind a MeshMultiZoneService (policies 9.3, status.meshServices and conditions).
import { compareText } from '../../base/compare-text.ts';
import { isObject, objectOf, textMapOf } from '../../resource/read-json.ts';
import { displayNameOf, label } from '../../resource/labels.ts';
import type { Json, JsonObject, Resource } from '../../resource/types.ts';
import { labelPairs, type Pair } from './pairs.ts';

export type MultiZoneStatus = { readonly meshServices: Json[]; readonly conditions: Json[] };

/**
 * @param services the MeshServices that carry its labels
 * @param zone the own zone, for services without a zone label
 */
export function multiZoneStatus(services: readonly Pick<Resource, 'name' | 'mesh' | 'labels'>[], zone: string): MultiZoneStatus {
  const meshServices = services
    .map((service) => ({
      name: displayNameOf(service),
      namespace: service.labels[label.namespace] ?? '',
      zone: service.labels[label.zone] ?? zone,
      mesh: service.mesh,
    }))
    .sort(
      (a, b) =>
        compareText(a.name, b.name) ||
        compareText(a.namespace, b.namespace) ||
        compareText(a.zone, b.zone) ||
        compareText(a.mesh, b.mesh),
    );
  const condition =
    meshServices.length > 0
      ? { status: 'True', reason: 'MatchesFound', message: '' }
      : { status: 'False', reason: 'NoMatchesFound', message: 'no MeshService carries the labels of the selector' };
  return { meshServices, conditions: [{ type: 'MeshServicesMatched', ...condition }] };
}

/** The labels that a MeshService of the same mesh must carry; null if the selector is missing. */
export function multiZoneSelector(spec: JsonObject): readonly Pair[] | null {
  const { meshService } = objectOf(spec['selector']);
  return isObject(meshService) ? labelPairs(textMapOf(meshService['matchLabels'])) : null;
}
