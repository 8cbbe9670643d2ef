// Keeps the services of a zone as its Dataplanes, generators and zone proxies want them (policies 9, MADR 095); leader only.
import type { Logger } from '../../base/log.ts';
import { reconcile, type ReconcileOptions, type Reconciler } from '../reconcile.ts';
import { rowId } from '../row-id.ts';
import { planServices, type Conflict } from './plan-services.ts';
import { ServicesView, viewedTypes } from './services-view.ts';
import type { VipNetworks } from './vip-pool.ts';

const HOUR_MS = 3_600_000;

export type ServicesOptions = ReconcileOptions & {
  /** Name of the own zone. */
  readonly zone: string;
  /** Whether the own ingress is published as MeshZoneAddress too, for Kuma peers (D27); true if left out. */
  readonly publishZoneAddress?: boolean;
  /** How long a generated service without proxies stays, in milliseconds; null makes no services; an hour if left out. */
  readonly graceMs?: number | null;
  /** Where virtual addresses come from. */
  readonly vipNetworks?: VipNetworks;
};

/** Runs until the signal aborts. Rejects when the store does not answer. The next start reads the table again. */
export async function runServices(options: ServicesOptions, signal: AbortSignal): Promise<void> {
  await reconcile(servicesReconciler(options), options, signal);
}

function servicesReconciler(options: ServicesOptions): Reconciler {
  const { zone, vipNetworks, log, publishZoneAddress = true, graceMs = HOUR_MS } = options;
  const view = new ServicesView(zone, vipNetworks);
  const warn = conflictLog(log);
  return {
    types: viewedTypes,
    view,
    plan(now) {
      const { writes, wakeAt, conflicts, withoutVip } = planServices(view, { now, publishZoneAddress, graceMs });
      for (const conflict of conflicts) warn(conflict);
      if (withoutVip > 0)
        log.error({ services: withoutVip }, 'all virtual addresses are held; give the zone a larger network with ipam.*.cidr');
      return { writes, wakeAt };
    },
  };
}

/** Warns of each conflict once, until it is another. */
function conflictLog(log: Logger): (conflict: Conflict) => void {
  const last = new Map<string, string>();
  return ({ mesh, service, dataplanes }) => {
    const key = rowId({ type: 'MeshService', mesh, name: service });
    const text = dataplanes.join();
    if (last.get(key) === text) return;
    last.set(key, text);
    log.warn(
      { mesh, service, dataplanes: dataplanes.slice(0, 10), of: dataplanes.length },
      'Dataplanes of one service have other ports than the service; give them the same inbounds',
    );
  };
}
