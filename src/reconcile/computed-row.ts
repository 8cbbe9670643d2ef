// Functions on rows for all reconcilers: a new row, the order of precedence, and whether a write is needed.
import { isDeepStrictEqual } from 'node:util';
import { label } from '../resource/labels.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import { compareText } from '../base/compare-text.ts';

/** A row that this zone creates in a mesh. It is deleted with its Mesh (kds-wire 7). */
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

/** A row with precedence by age. `created` is in milliseconds since 1970. */
export type Aged = { readonly created: number; readonly name: string };

/** The oldest first, then by name: services, generators and Dataplanes (policies 9.4, 9.5). */
export function byAge(a: Aged, b: Aged): number {
  return a.created - b.created || compareText(a.name, b.name);
}

/** Whether a write would change nothing. */
export function sameContent(
  a: Pick<Resource, 'labels' | 'spec' | 'status'>,
  b: Pick<Resource, 'labels' | 'spec' | 'status'>,
): boolean {
  return isDeepStrictEqual(a.status, b.status) && isDeepStrictEqual(a.spec, b.spec) && isDeepStrictEqual(a.labels, b.labels);
}
