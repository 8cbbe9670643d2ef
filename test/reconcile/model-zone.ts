// A zone's table as a map, with a view that gets every change: the pure core under random histories.
// Invariant: after `settle` nothing remains to write; time moves far enough between two passes for zone proxies to settle.
import { keyText, type Resource, type ResourceKey } from '../../src/resource/types.ts';
import { putAll, type PlannedWrite } from '../../src/reconcile/reconcile.ts';
import { planServices } from '../../src/reconcile/services/plan-services.ts';
import { ServicesView, viewedTypes } from '../../src/reconcile/services/services-view.ts';
import { ZONE } from './zone-under-test.ts';

/** Longer than the time in which a proxy without a stream may come back. */
const STEP_MS = 100_000;
/** Longer than any history: a generated service that ends in the pass of a test would be a write that no change caused. */
const GRACE_MS = 86_400_000;
const CREATED = new Date('2026-01-01T00:00:00.000Z');

export type ModelRow = ResourceKey &
  Partial<Pick<Resource, 'labels' | 'spec' | 'status' | 'syncVersion'>> & { readonly age?: number };

export class ModelZone {
  readonly rows = new Map<string, Resource>();
  #view = new ServicesView(ZONE);
  #now = CREATED.getTime();

  put({ age = 0, ...given }: ModelRow): void {
    const before = this.rows.get(keyText(given));
    const row: Resource = {
      labels: {},
      spec: {},
      status: before?.status ?? {},
      version: (before?.version ?? -1) + 1,
      creationTime: before?.creationTime ?? new Date(CREATED.getTime() + age),
      modificationTime: CREATED,
      owner: null,
      syncVersion: null,
      ...given,
    };
    this.rows.set(keyText(row), row);
    this.#view.put(row);
  }

  delete(key: ResourceKey): void {
    if (this.rows.delete(keyText(key))) this.#view.remove(key);
  }

  /** Plans and writes until there is nothing left. @returns the number of writes */
  settle(): number {
    let written = 0;
    let quiet = 0;
    for (let pass = 0; ; pass += 1) {
      this.#now += STEP_MS;
      const { writes } = planServices(this.#view, { now: new Date(this.#now), elapsed: this.#now, graceMs: GRACE_MS });
      // The first pass may begin the absence of a proxy, which is over in the next.
      quiet = writes.length === 0 ? quiet + 1 : 0;
      if (quiet === 2) return written;
      if (pass > 4) throw new Error(`no rest: ${JSON.stringify(writes)}`);
      for (const write of writes) this.#apply(write);
      written += writes.length;
    }
  }

  /** Another process takes over, with a view of only the rows of the table. */
  restart(): void {
    this.#view = new ServicesView(ZONE);
    for (const type of viewedTypes)
      putAll(
        this.#view,
        type,
        [...this.rows.values()].filter((row) => row.type === type),
      );
  }

  #apply(write: PlannedWrite): void {
    const key = write.op === 'put' ? write.row : write.before;
    const stored = this.rows.get(keyText(key));
    if (stored?.version !== write.before?.version) throw new Error(`planned on another version of ${keyText(key)}`);
    if (write.op === 'delete') {
      this.rows.delete(keyText(key));
      this.#view.remove(key);
      return;
    }
    const row = { ...write.row, version: (stored?.version ?? -1) + 1, creationTime: stored?.creationTime ?? CREATED };
    this.rows.set(keyText(row), row);
    this.#view.accept(row);
    this.#view.put(row);
  }
}
