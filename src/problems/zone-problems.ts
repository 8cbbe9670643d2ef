// The problems of one zone, from its rows and the state that follows from them. Pure.
import { objectsOf, textOf } from '../resource/read-json.ts';
import type { JsonObject } from '../resource/types.ts';
import { expiryWarning } from '../token/zone-token-advice.ts';
import { calledLately, recentWarning, type RecentField } from '../zone-status/recent-calls.ts';
import { competingControlPlanes } from '../zone-status/competing-control-planes.ts';
import type { ZoneSync } from '../zone-status/zone-sync.ts';
import { problemOf, type Problem, type ProblemCode } from './problem.ts';

/** A third of the time of the alert MeridianSyncLag: after a silent cut of the network this is the first sign of it. */
const LAGGING_MS = 10_000;

export type ZoneUnderTest = {
  readonly name: string;
  readonly isEnabled: boolean;
  /** The spec and the status of the ZoneInsight. */
  readonly insight: { readonly spec: JsonObject; readonly status: JsonObject };
  readonly sync: ZoneSync;
};

export function zoneProblems(zone: ZoneUnderTest, now: Date): Problem[] {
  return [...connectionProblems(zone, now), ...syncProblems(zone), ...tokenProblems(zone, now)];
}

function connectionProblems({ name: zone, isEnabled, insight, sync }: ZoneUnderTest, now: Date): Problem[] {
  const { connection, since, lagMs, reason } = sync;
  const found: Problem[] = [];
  // A disabled zone is switched off before it is retired.
  if (connection === 'offline' && isEnabled) found.push(problemOf('zoneAway', [zone], { zone, since, message: reason }));
  if (connection === 'refused') found.push(problemOf('zoneRefused', [zone], { zone, since, message: reason }));
  if (connection === 'lagging' && lagMs >= LAGGING_MS)
    found.push(problemOf('zoneLagging', [zone], { zone, since, message: reason }));
  if (connection !== 'refused') found.push(...callProblems('streamsRefused', 'refusedStreams', zone, insight.status, now));
  found.push(...callProblems('fullStatesDelayed', 'delayedFullStates', zone, insight.status, now));
  const rivals = competingControlPlanes(insight.spec, now);
  if (rivals.length > 0)
    found.push(
      problemOf('zoneContended', [zone], {
        zone,
        since: null,
        message: `control planes take zone ${zone} from each other: ${rivals.slice(0, 5).join(', ')}`,
      }),
    );
  return found;
}

function callProblems(code: ProblemCode, field: RecentField, zone: string, status: JsonObject, now: Date): Problem[] {
  const calls = calledLately(field, status, now);
  const message = recentWarning(field, zone, status, now);
  return calls === null || message === null ? [] : [problemOf(code, [zone], { zone, since: calls.since, message })];
}

const CODES = { refused: 'resourcesRefused', suspected: 'resourcesSuspected', withheld: 'resourcesWithheld' } as const;

function syncProblems({ name: zone, insight }: ZoneUnderTest): Problem[] {
  return objectsOf(insight.status['syncProblems']).flatMap(({ stream, type, kind, resources, count, message, time }) => {
    const code = CODES[textOf(kind) as keyof typeof CODES];
    if (code === undefined) return [];
    const subject = [zone, textOf(stream), textOf(type)];
    const names = Array.isArray(resources) ? resources.map(textOf) : [];
    return [
      problemOf(code, subject, {
        ...{ zone, type: textOf(type), resources: names, count: Number(count ?? 0) },
        ...{ since: textOf(time) || null, message: textOf(message) },
      }),
    ];
  });
}

function tokenProblems({ name: zone, insight }: ZoneUnderTest, now: Date): Problem[] {
  const end = new Date(textOf(insight.status['tokenExpiresAt']));
  return Number.isNaN(end.getTime()) ? [] : zoneTokenProblem(zone, end, now);
}

export function zoneTokenProblem(zone: string, end: Date, now: Date): Problem[] {
  const message = expiryWarning(zone, end, now);
  return message === null ? [] : [problemOf('zoneTokenEnds', [zone], { zone, since: null, until: end.toISOString(), message })];
}
