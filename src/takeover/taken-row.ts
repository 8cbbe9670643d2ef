// A row of a Kuma control plane, from its database or from a dump, and the release of Kuma that wrote it.
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { Resource } from '../resource/types.ts';

/** A row whose type may be one that Meridian does not have. */
export type TakenRow = Pick<Resource, 'type' | 'mesh' | 'name' | 'labels' | 'spec'>;

/** The major release of a Kuma control plane. */
export type KumaRelease = 2 | 3;

/** The first release whose control planes read over the keys of 2.x. */
const NEWEST: KumaRelease = 3;

/**
 * The release of the Kuma global that had these rows, by the zones that ever connected: no zone is newer than its global. Without
 * a zone of Kuma 3 the older release is assumed, because it has more to lose.
 */
export function releaseOf(rows: Iterable<TakenRow>): KumaRelease {
  for (const { type, spec } of rows) {
    if (type !== 'ZoneInsight') continue;
    for (const subscription of objectsOf(spec['subscriptions'])) {
      const { version, gitCommit } = objectOf(objectOf(subscription['version'])['kumaCp']);
      // A version without a commit is one of Meridian.
      const major = textOf(gitCommit) === '' ? NaN : Number.parseInt(textOf(version), 10);
      if (major >= NEWEST) return NEWEST;
    }
  }
  return 2;
}
