// Compares the wanted Workloads of a zone with the stored ones. A zone creates one for every value of the label `kuma.io/workload` on
// its Dataplanes, and deletes it with the last of them. A user's Workload gets only its status. Pure.
import { label, manager } from '../../resource/labels.ts';
import type { Resource } from '../../resource/types.ts';
import { newRow, sameContent } from '../computed-row.ts';
import type { PlannedWrite, Reconciler } from '../reconcile.ts';
import { WorkloadsView, viewedTypes } from './workloads-view.ts';

export function planWorkloads(view: WorkloadsView, { zone, now }: { zone: string; now: Date }): PlannedWrite[] {
  return view.takeMarked().flatMap(({ key, stored, counts }): PlannedWrite[] => {
    const isOurs = stored === undefined || stored.labels[label.managedBy] === manager.workloads;
    if (counts.total === 0 && isOurs) return stored === undefined ? [] : [{ op: 'delete', before: stored }];
    const base: Resource = stored ?? newRow(key, now);
    const labels = isOurs
      ? {
          ...base.labels,
          [label.mesh]: key.mesh,
          [label.displayName]: key.name,
          [label.managedBy]: manager.workloads,
          [label.env]: 'universal',
          [label.zone]: zone,
          [label.origin]: 'zone',
        }
      : base.labels;
    const row: Resource = { ...base, labels, status: { ...base.status, dataplaneProxies: { ...counts } } };
    return stored !== undefined && sameContent(stored, row) ? [] : [{ op: 'put', row, before: stored }];
  });
}

/** The reconciler of the Workloads of a zone. */
export function workloadsReconciler(zone: string): Reconciler {
  const view = new WorkloadsView();
  return { types: viewedTypes, view, plan: ({ now }) => ({ writes: planWorkloads(view, { zone, now }), waitMs: null }) };
}
