// The kinds of zones that a Kuma global has, by what each zone said when it last connected. Pure.
import { objectOf, objectsOf, textOf } from '../resource/read-json.ts';
import type { TakenRow } from './taken-row.ts';

/** How a zone reads what global sends. */
export const ZONE_KINDS = ['2.x', '3.x', 'meridian'] as const;
export type ZoneKind = (typeof ZONE_KINDS)[number];

/**
 * The zones of a global that connected at some time, each with its kind. A build of Kuma without a version counts as 2.x, which has more to
 * lose.
 */
export function zoneKinds(rows: Iterable<TakenRow>): Map<string, ZoneKind> {
  const kinds = new Map<string, ZoneKind>();
  for (const { type, name, spec } of rows) {
    const last = type === 'ZoneInsight' ? objectsOf(spec['subscriptions']).at(-1) : undefined;
    if (last !== undefined) kinds.set(name, kindOf(objectOf(objectOf(last['version'])['kumaCp'])));
  }
  return kinds;
}

function kindOf({ version, gitCommit }: ReturnType<typeof objectOf>): ZoneKind {
  // A version without a commit is one of Meridian.
  if (textOf(gitCommit) === '') return 'meridian';
  return Number.parseInt(textOf(version), 10) >= 3 ? '3.x' : '2.x';
}
