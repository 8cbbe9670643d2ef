// Keeps the conditions of observability policies and their backends in a zone; leader only.
import { reconcile, type ReconcileOptions } from '../reconcile.ts';
import { BackendRefsView, viewedTypes } from './backend-refs-view.ts';
import { planConditions } from './plan-conditions.ts';

/** Runs until the signal aborts. Rejects when the store does not answer. The next start reads the table again. */
export async function runBackendRefs(options: ReconcileOptions, signal: AbortSignal): Promise<void> {
  const view = new BackendRefsView();
  const plan = () => ({ writes: planConditions(view), wakeAt: null });
  await reconcile({ types: viewedTypes, view, plan }, options, signal);
}
