// The keys of the two rows of a proxy: its Dataplane, and its insight.
import type { ResourceKey } from '../resource/types.ts';

export type DataplaneName = { readonly mesh: string; readonly name: string };

export function dataplaneKey({ mesh, name }: DataplaneName): ResourceKey {
  return { type: 'Dataplane', mesh, name };
}

export function insightKey({ mesh, name }: DataplaneName): ResourceKey {
  return { type: 'DataplaneInsight', mesh, name };
}
