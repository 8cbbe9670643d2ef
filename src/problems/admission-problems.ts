// The proxies that a control plane does not let in. A caller with no good token, for a Dataplane that does not exist, is counted alone:
// everybody may send names.
import { compareText } from '../base/compare-text.ts';
import type { RefusedProxy } from '../token/refused-proxies.ts';
import { nameText } from '../resource/types.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import { problemOf, type Problem } from './problem.ts';

type Sources = { readonly store: Pick<ResourceStore, 'getMany'>; readonly zone: string; readonly instanceId: string };

/** Rejects as the store does. */
export async function admissionProblems(
  refused: readonly RefusedProxy[],
  { store, zone, instanceId }: Sources,
): Promise<Problem[]> {
  if (refused.length === 0) return [];
  const rows = await store.getMany(refused.map(({ mesh, name }) => ({ type: 'Dataplane', mesh, name })));
  const stored = new Set(rows.map(nameText));
  const meant = refused.filter((one) => one.isKnown || stored.has(nameText(one)));
  const others = refused.length - meant.length;
  const problems = meant.map(({ mesh, name, reason, since, count }) =>
    problemOf('proxyNotAdmitted', [mesh, name], {
      ...{ type: 'Dataplane', zone, mesh, instanceId, resources: [name], count, since: since.toISOString() },
      message: `the proxy of Dataplane ${name} of mesh ${mesh} is not let in: ${reason}`,
    }),
  );
  if (others > 0)
    problems.push(
      problemOf('proxyNotAdmitted', [], {
        ...{ type: 'Dataplane', zone, instanceId, count: others, since: null },
        message: `${String(others)} callers without a good token name Dataplanes that do not exist; the log has the reasons`,
      }),
    );
  return problems.toSorted((a, b) => compareText(a.id, b.id));
}
