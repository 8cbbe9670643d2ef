import { label } from '../resource/labels.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';

/** A row that this zone makes in a mesh: it goes with its Mesh (kds-wire 7). */
export function newRow(key: ResourceKey, now: Date): Resource {
  return {
    ...key,
    labels: { [label.origin]: 'zone' },
    spec: {},
    status: {},
    version: 0,
    creationTime: now,
    modificationTime: now,
    owner: { type: 'Mesh', mesh: '', name: key.mesh },
    syncVersion: null,
  };
}
