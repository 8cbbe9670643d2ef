// The version of the control plane of a zone, as its newest subscription says. Pure.
import { subscriptionsOf } from '../resource/online-status.ts';
import { objectOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';

/**
 * @param insight spec of a ZoneInsight
 * @returns null if unknown. `isOwn` is false for a Kuma zone: it names the commit that it was built from
 */
export function peerVersionOf(insight: JsonObject): { readonly version: string; readonly isOwn: boolean } | null {
  const { version, gitTag, gitCommit } = objectOf(objectOf(subscriptionsOf(insight).at(-1)?.['version'])['kumaCp']);
  if (textOf(version) === '') return null;
  return { version: textOf(version), isOwn: textOf(gitTag) === '' && textOf(gitCommit) === '' };
}
