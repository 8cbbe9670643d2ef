// The reconciler of a zone's services, computed from its Dataplanes, generators and zone proxies (policies 9, MADR 095).
import type { Logger } from '../../base/log.ts';
import { keyText } from '../../resource/types.ts';
import type { Reconciler } from '../reconcile.ts';
import { planServices, type Conflict } from './plan-services.ts';
import { ServicesView, viewedTypes } from './services-view.ts';
import type { VipNetworks } from './vip-pool.ts';

const HOUR_MS = 3_600_000;

export type ServicesOptions = {
  readonly log: Logger;
  /** The name of the own zone. */
  readonly zone: string;
  /** The time for which a generated service without proxies stays, in milliseconds; null disables the generator. The default is an hour. */
  readonly graceMs?: number | null;
  /**
   * The value of `xdsServer.dataplaneDeregistrationDelay`: the time in which a proxy may open its stream again, in milliseconds.
   */
  readonly reconnectMs?: number;
  /** The networks of virtual addresses. */
  readonly vipNetworks?: VipNetworks;
};

export function servicesReconciler({ zone, vipNetworks, reconnectMs, log, graceMs = HOUR_MS }: ServicesOptions): Reconciler {
  const view = new ServicesView(zone, vipNetworks, reconnectMs);
  const warn = conflictLog(log);
  return {
    types: viewedTypes,
    view,
    plan(at) {
      const { writes, waitMs, conflicts, withoutVip } = planServices(view, { ...at, graceMs });
      for (const conflict of conflicts) warn(conflict);
      if (withoutVip > 0)
        log.error({ services: withoutVip }, 'all virtual addresses are in use; give the zone a larger network with ipam.*.cidr');
      return { writes, waitMs };
    },
  };
}

/** Warns about each conflict once, until it changes. */
function conflictLog(log: Logger): (conflict: Conflict) => void {
  const last = new Map<string, string>();
  return ({ mesh, service, dataplanes }) => {
    const key = keyText({ type: 'MeshService', mesh, name: service });
    const text = dataplanes.join();
    if (last.get(key) === text) return;
    last.set(key, text);
    log.warn(
      { mesh, service, dataplanes: dataplanes.slice(0, 10), of: dataplanes.length },
      'Dataplanes of one service have different ports; give them the same inbounds',
    );
  };
}
