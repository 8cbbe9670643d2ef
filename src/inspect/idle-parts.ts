// The parts of a resource that have no effect because of other resources: a reference that means nothing, a Secret that does not exist. Pure.
// A resource with such a part is valid, because what it names may come later.
import type { Steps } from '../base/steps.ts';
import { backendFaults, idleItems } from '../policy/policy-reach.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import { objectOf } from '../resource/read-json.ts';
import { secretRefsIn } from '../resource/secret-refs.ts';
import { resourceTypes } from '../resource/type-registry.ts';
import type { Resource } from '../resource/types.ts';

/** @property field in the document @property reason with the effect on traffic */
export type IdlePart = { readonly field: string; readonly reason: string };

/** The types that may have idle parts. */
export const IDLE_TYPES: readonly string[] = [
  'MeshExternalService',
  ...resourceTypes.flatMap(({ name, policy }) => (policy === null ? [] : [name])),
];

/** The types of the resources that they name. */
export const NAMED_TYPES = ['MeshService', 'MeshMultiZoneService', 'MeshExternalService', 'Secret'] as const;

/** Yields the idle parts of a row of the index, in the order of the document. */
export function* idleParts(index: MeshIndex, row: Resource): Steps<IdlePart[]> {
  if (row.type === 'MeshExternalService')
    return secretRefsIn(row.spec).flatMap(({ name, field }) =>
      index.get('Secret', name) === undefined
        ? [{ field, reason: `names the Secret ${JSON.stringify(name)}, which does not exist: requests are answered 503` }]
        : [],
    );
  const policy = index.policyOf(row);
  if (policy === undefined) return [];
  const items = idleItems(index, policy).map(({ field, reason }) => ({ field, reason: `${reason}: this item has no effect` }));
  const share = row.type === 'MeshHTTPRoute' ? 'its share of the requests is answered 500' : 'it gets no connections';
  const faults = yield* backendFaults(index, policy);
  const backends = faults.flatMap(({ field, reason, ref }) => {
    if (field.includes('.filters[')) return [{ field, reason: `${reason}: nothing is mirrored` }];
    return objectOf(ref)['weight'] === 0 ? [] : [{ field, reason: `${reason}: ${share}` }];
  });
  return [...items, ...backends];
}
