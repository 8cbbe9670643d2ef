// The version of the control plane of a zone, from the described subscription. Pure.
import { describedSubscription, subscriptionsOf } from '../resource/online-status.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';

/**
 * @param insight the spec of a ZoneInsight
 * @returns null if unknown. `isOwn` is false for a Kuma zone: it names the commit that it was built from
 */
export function peerVersionOf(insight: JsonObject): { readonly version: string; readonly isOwn: boolean } | null {
  const described = describedSubscription(subscriptionsOf(insight));
  const { version, gitTag, gitCommit } = objectOf(objectOf(described?.['version'])['kumaCp']);
  if (textOf(version) === '') return null;
  return { version: textOf(version), isOwn: textOf(gitTag) === '' && textOf(gitCommit) === '' };
}
