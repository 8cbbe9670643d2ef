// A global and two zones in one process, with a running reconciler for each zone's services and one clock for both.
// Invariant: after `rest` no message is in flight, no write is pending, and no task is due within the next seconds.
import { createLogger } from '../../src/base/log.ts';
import type { JsonObject, Resource } from '../../src/resource/types.ts';
import { reconcile } from '../../src/reconcile/reconcile.ts';
import { servicesReconciler } from '../../src/reconcile/services/services-reconciler.ts';
import { ControlPlanes, zones, type Side } from '../golden/control-planes.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** Longer than the time for zone proxies to settle. */
const SETTLED_MS = 10_000;

export class ServicesFleet {
  readonly planes = new ControlPlanes({ resume: true });
  readonly clock = new ManualClock();
  readonly #stop = new AbortController();
  #running: Promise<void>[] = [];

  async start(): Promise<void> {
    await this.put('global', 'Mesh', 'default', {});
    await this.planes.start();
    const log = createLogger('silent');
    this.#running = zones.map((zone) => {
      const options = { store: this.planes.stores[zone], log, clock: this.clock };
      return reconcile(servicesReconciler({ zone, log }), options, this.#stop.signal);
    });
    await this.rest();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
    await this.planes.close();
  }

  /** Advances the time, and waits for the consequences. */
  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.planes.rest();
  }

  async rest(): Promise<void> {
    // Resources that arrive from the other side may need another run.
    for (let round = 0; round < 3; round += 1) await this.advance(SETTLED_MS);
  }

  async put(side: Side, type: string, name: string, spec: JsonObject, labels: Record<string, string> = {}): Promise<void> {
    const mesh = ['Mesh', 'Zone', 'HostnameGenerator'].includes(type) ? '' : 'default';
    const key = { type, mesh, name };
    await this.planes.stores[side].write({ op: 'put', key, labels, spec });
  }

  /** A Dataplane of a zone proxy whose Envoy is connected. */
  async zoneProxy(side: Side, name: string, spec: JsonObject): Promise<void> {
    await this.put(side, 'Dataplane', name, spec);
    await this.put(side, 'DataplaneInsight', name, insight(true));
  }

  async delete(side: Side, type: string, name: string): Promise<void> {
    const mesh = type === 'Zone' ? '' : 'default';
    await this.planes.stores[side].write({ op: 'delete', key: { type, mesh, name } });
  }

  /** The rows of a type on one side whose display name is `name`. */
  rows(side: Side, type: string, name: string): Resource[] {
    return [...this.planes.stores[side].rows.values()].filter(
      (row) => row.type === type && (row.labels['kuma.io/display-name'] ?? row.name) === name,
    );
  }

  row(side: Side, type: string, name: string): Resource | undefined {
    return this.rows(side, type, name)[0];
  }
}

export function ingressProxy(advertisedAddress: string, advertisedPort = 30_001): JsonObject {
  return { networking: { zoneIngress: { address: '10.0.0.2', port: 10_001, advertisedAddress, advertisedPort } } };
}

export function egressProxy(address: string): JsonObject {
  return { networking: { zoneEgress: { address, port: 10_002 } } };
}

/** A DataplaneInsight, online or offline. */
export function insight(isOnline: boolean): JsonObject {
  const connectTime = '2026-01-01T00:00:00Z';
  return { subscriptions: [isOnline ? { connectTime } : { connectTime, disconnectTime: '2026-01-01T00:00:01Z' }] };
}
