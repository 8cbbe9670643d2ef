// The summary of a zone for a list of all zones: one line. Pure.
import type { Answer } from '../answers/answers.ts';
import type { Problem } from '../problems/problem.ts';
import { zoneProblems } from '../problems/zone-problems.ts';
import { isOpen, subscriptionsOf } from '../resource/online-status.ts';
import { objectsOf, textOf } from '../resource/read-json.ts';
import { findType } from '../resource/type-registry.ts';
import type { JsonObject } from '../resource/types.ts';
import { readableProblems } from '../zone-status/readable-problems.ts';
import type { ZoneSync } from '../zone-status/zone-sync.ts';
import type { ZoneFacts } from './zone-facts.ts';

export type ZoneSummary = Answer<'ZoneSummary'>;

/** The fields of a summary besides the state of the sync. */
type ZoneCondition = Pick<ZoneSummary, 'enabled' | 'refused' | 'withheld' | 'replica' | 'reason'>;

export function zoneSummary(zone: ZoneFacts & { readonly sync: ZoneSync }, now: Date): ZoneSummary {
  const { name, version, sync } = zone;
  const { state, since, lagMs, pending } = sync;
  return { name, state, since, lagMs, pending, version, ...zoneCondition(zone, now) };
}

/** @returns `reason`: why the zone is not connected or behind, else its first problem; `''` without one */
export function zoneCondition(zone: ZoneFacts & { readonly sync: ZoneSync }, now: Date): ZoneCondition {
  const { isEnabled, insight, sync } = zone;
  const [problem] = sync.reason === '' ? zoneProblems({ ...zone, insight: readable(insight) }, now) : [];
  const reason = problem === undefined ? sync.reason : textOfProblem(problem);
  return { enabled: isEnabled, ...troubledIn(insight.status), replica: replicaOf(insight.spec), reason };
}

/** All callers get the same summary, so it names only what each of them may read. */
function readable({ spec, status }: ZoneFacts['insight']): ZoneFacts['insight'] {
  return { spec, status: readableProblems(status, (type) => findType(type)?.adminOnly === false) };
}

function textOfProblem({ type, resources = [], message }: Problem): string {
  return type === undefined ? message : `${[type, ...resources.slice(0, 1)].join(' ')}: ${message}`;
}

/** The number of resources that are refused, or may be, and of those that are withheld. */
function troubledIn({ syncProblems }: JsonObject): Pick<ZoneSummary, 'refused' | 'withheld'> {
  const found = { refused: 0, withheld: 0 };
  for (const { kind, count } of objectsOf(syncProblems)) {
    // A problem without names is about all resources of the type.
    const resources = Math.max(1, Number(count ?? 0));
    if (kind === 'withheld') found.withheld += resources;
    else found.refused += resources;
  }
  return found;
}

/** The replica of global with the newest open stream of the zone; null without one. */
function replicaOf(spec: JsonObject): string | null {
  const open = subscriptionsOf(spec).findLast(isOpen);
  return open === undefined ? null : textOf(open['globalInstanceId']);
}
