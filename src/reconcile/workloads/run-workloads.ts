// Keeps the Workloads of a zone; leader only.
import { reconcile, type ReconcileOptions } from '../reconcile.ts';
import { planWorkloads } from './plan-workloads.ts';
import { viewedTypes, WorkloadsView } from './workloads-view.ts';

/** Runs until the signal aborts. Rejects when the store does not answer. The next start reads the table again. */
export async function runWorkloads(options: ReconcileOptions & { readonly zone: string }, signal: AbortSignal): Promise<void> {
  const { zone } = options;
  const view = new WorkloadsView();
  const plan = (now: Date) => ({ writes: planWorkloads(view, { zone, now }), wakeAt: null });
  await reconcile({ types: viewedTypes, view, plan }, options, signal);
}
