// The problems of proxies: with their configuration, which their zone keeps in the status of the insight, which KDS does not carry; and those
// that a Dataplane shows by itself, on global too.
import type { Answer } from '../answers/answers.ts';
import { objectsOf, textOf } from '../resource/read-json.ts';
import { nameText, type JsonObject, type Resource, type ResourceKey } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { silentApplications } from './silent-applications.ts';

export type ProxyProblem = NonNullable<Answer<'Effective'>['problems']>[number];

/** `zone`: the name of this zone; null on global. */
type Context = { readonly store: Pick<ResourceStore, 'getMany'>; readonly zone: string | null };

/**
 * The problems by `nameText`. Dataplanes without problems are left out. A global knows none and reads nothing. Rejects as the
 * store does.
 */
export async function proxyProblems(
  { store, zone }: Context,
  dataplanes: readonly Pick<ResourceKey, 'mesh' | 'name'>[],
): Promise<ReadonlyMap<string, readonly ProxyProblem[]>> {
  if (zone === null || dataplanes.length === 0) return new Map();
  const rows = await store.getMany(dataplanes.map(({ mesh, name }) => ({ type: 'DataplaneInsight', mesh, name })));
  const problems = rows.map((row) => [nameText(row), problemsIn(row)] as const);
  return new Map(problems.filter(([, found]) => found.length > 0));
}

/** The problems in the status of a DataplaneInsight. */
export function problemsIn({ status }: Pick<Resource, 'status'>): ProxyProblem[] {
  return objectsOf(status['proxyProblems']).map(problemOf);
}

/** The problems that a Dataplane shows by itself. */
export function dataplaneProblems(dataplane: Resource): ProxyProblem[] {
  return silentApplications(dataplane).map(({ field: at, reason }) => ({ kind: 'leftOut', at, reason, policies: [] }));
}

function problemOf({ kind, at, reason, policies, time }: JsonObject): ProxyProblem {
  return {
    kind: kind === 'refused' ? 'refused' : 'leftOut',
    at: textOf(at),
    reason: textOf(reason),
    policies: Array.isArray(policies) ? policies.filter((kri) => typeof kri === 'string') : [],
    ...(typeof time === 'string' && { time }),
  };
}
