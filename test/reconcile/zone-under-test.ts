// A zone's store with the reconciler of its services on it, and a clock that a test turns.
// Invariant: after `rest` no write is pending, or the test fails.
import { createLogger } from '../../src/base/log.ts';
import { compareKeys, type Resource, type ResourceKey } from '../../src/resource/types.ts';
import type { Write } from '../../src/store/resource-store.ts';
import { reconcile } from '../../src/reconcile/reconcile.ts';
import { backendRefsReconciler } from '../../src/reconcile/backend-refs/plan-conditions.ts';
import { servicesReconciler } from '../../src/reconcile/services/services-reconciler.ts';
import { workloadsReconciler } from '../../src/reconcile/workloads/plan-workloads.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { TinyStore } from '../support/tiny-store.ts';

/** Types of which a reconciler writes rows. */
export const WRITTEN = [
  ...['MeshService', 'MeshExternalService', 'MeshMultiZoneService', 'MeshZoneAddress', 'Workload'],
  ...['MeshOpenTelemetryBackend', 'MeshAccessLog', 'MeshTrace', 'MeshMetric'],
];

export const ZONE = 'east';

export type GivenRow = ResourceKey &
  Partial<Pick<Resource, 'labels' | 'spec' | 'status' | 'syncVersion'>> & { readonly created?: string };

export class ZoneUnderTest {
  readonly store = new TinyStore();
  readonly clock = new ManualClock();
  /** Writes of the reconciler since the start. */
  readonly writes: Write[] = [];
  /** Batches of the reconciler since the start. */
  batches = 0;
  #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #isOwnWrite = false;

  constructor() {
    const { store } = this;
    store.beforeWrite = (write) => {
      if (!this.#isOwnWrite) this.writes.push(write);
      return undefined;
    };
    const writeBatch = store.writeBatch.bind(store);
    store.writeBatch = async (writes) => {
      this.batches += 1;
      return await writeBatch(writes);
    };
  }

  async start(): Promise<void> {
    this.#stop = new AbortController();
    const log = createLogger('silent');
    const options = { store: this.store, log, clock: this.clock };
    const reconcilers = [servicesReconciler({ zone: ZONE, log }), workloadsReconciler(ZONE), backendRefsReconciler(ZONE)];
    const { signal } = this.#stop;
    this.#running = Promise.all(reconcilers.map((one) => reconcile(one, options, signal)));
    await this.rest();
  }

  async restart(): Promise<void> {
    await this.close();
    await this.start();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async putAll(rows: readonly GivenRow[]): Promise<void> {
    for (const row of rows) await this.put(row);
  }

  async wait(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  async put(given: GivenRow): Promise<void> {
    const key = { type: given.type, mesh: given.mesh, name: given.name };
    const stored = await this.store.get(key);
    await this.#write({
      op: 'put',
      key,
      labels: given.labels ?? stored?.labels ?? {},
      spec: given.spec ?? stored?.spec ?? {},
      status: given.status ?? stored?.status ?? {},
      syncVersion: given.syncVersion ?? stored?.syncVersion ?? null,
    });
    const id = JSON.stringify([key.type, key.mesh, key.name]);
    const row = this.store.rows.get(id);
    const creationTime = given.created === undefined ? stored?.creationTime : new Date(given.created);
    if (row !== undefined && creationTime !== undefined) this.store.rows.set(id, { ...row, creationTime });
  }

  async deleteAll(keys: readonly ResourceKey[]): Promise<void> {
    for (const { type, mesh, name } of keys) await this.#write({ op: 'delete', key: { type, mesh, name } });
  }

  /** Runs everything that is due: hints are merged, and zone proxies settle. */
  async rest(): Promise<void> {
    await this.clock.advance(2_000);
  }

  /** The rows that the reconciler may write, by type and key. */
  services(): Resource[] {
    return inOrder([...this.store.rows.values()].filter(({ type }) => WRITTEN.includes(type)));
  }

  async #write(write: Write): Promise<void> {
    this.#isOwnWrite = true;
    await this.store.write(write);
    this.#isOwnWrite = false;
  }
}

/** By type as in `WRITTEN`, then by key. */
export function inOrder(rows: readonly Resource[]): Resource[] {
  return rows.toSorted((a, b) => WRITTEN.indexOf(a.type) - WRITTEN.indexOf(b.type) || compareKeys(a, b));
}
