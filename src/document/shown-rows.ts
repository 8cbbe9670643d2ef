// The rows that answers show.
import type { ResourceKey } from '../resource/types.ts';

/** Returns false for the outdated rows with all services of a mesh that a Kuma before 3.0 left in its database. */
export function isShown({ type, name }: ResourceKey): boolean {
  return type !== 'ServiceInsight' || !name.startsWith('all-services-');
}
