// The conditions on observability policies (whether their MeshOpenTelemetryBackends exist) and on backends (whether they are in use).
// Messages and reasons are those of Kuma. A zone writes them on its own rows and on synced ones. Pure.
import { isDeepStrictEqual } from 'node:util';
import { objectsOf } from '../../resource/read-json.ts';
import type { JsonObject, Resource } from '../../resource/types.ts';
import type { PlannedWrite, Reconciler } from '../reconcile.ts';
import { BackendRefsView, viewedTypes, type PolicyRefs } from './backend-refs-view.ts';

export function planConditions(view: BackendRefsView): PlannedWrite[] {
  const { policies, backends } = view.takeMarked();
  return [
    ...policies.map((policy) => withCondition(policy.row, backendRefsResolved(policy))),
    ...backends.map(({ row, references }) => withCondition(row, referencedByPolicies(references))),
  ].filter((write) => write !== null);
}

function backendRefsResolved({ refs, unresolved }: PolicyRefs): JsonObject {
  if (unresolved.length > 0)
    return {
      ...{ type: 'BackendRefsResolved', status: 'False', reason: 'UnresolvedBackendRefs' },
      message: `Unresolved MeshOpenTelemetryBackend references: ${unresolved.join(', ')}`,
    };
  return {
    ...{ type: 'BackendRefsResolved', status: 'True', reason: 'AllBackendRefsResolved' },
    message:
      refs.length === 0
        ? 'No MeshOpenTelemetryBackend references configured'
        : 'All MeshOpenTelemetryBackend references are resolved',
  };
}

function referencedByPolicies(references: number): JsonObject {
  if (references === 0)
    return {
      ...{ type: 'ReferencedByPolicies', status: 'False', reason: 'NotReferenced' },
      message: 'Not referenced by any observability policy',
    };
  return {
    ...{ type: 'ReferencedByPolicies', status: 'True', reason: 'Referenced' },
    message: `Referenced by ${String(references)} policy backend(s)`,
  };
}

/** The row with this condition in place of the one of the same type; null without a change. */
function withCondition(row: Resource, condition: JsonObject): PlannedWrite | null {
  const before = objectsOf(row.status['conditions']);
  const at = before.findIndex(({ type }) => type === condition['type']);
  const conditions = at === -1 ? [...before, condition] : before.with(at, condition);
  if (isDeepStrictEqual(before, conditions)) return null;
  return { op: 'put', row: { ...row, status: { ...row.status, conditions } }, before: row };
}

/** The reconciler of the conditions of observability policies and their backends in a zone. */
export function backendRefsReconciler(zone: string): Reconciler {
  const view = new BackendRefsView(zone);
  return { types: viewedTypes, view, plan: () => ({ writes: planConditions(view), waitMs: null }) };
}
