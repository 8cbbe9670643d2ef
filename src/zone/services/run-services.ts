// Keeps the services of a zone as its Dataplanes, generators and zone proxies want them (policies 9, MADR 095); leader only.
// Event-driven: what the feed names is read again, and only what depends on it is planned. Invariants: the table is the truth,
// so it can stop and start anywhere; a write needs the version that was read; what does not differ is not written.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { together } from '../../control-plane/supervise.ts';
import type { ResourceStore, Write } from '../../store/resource-store.ts';
import { ChangeHints, type Hints } from './change-hints.ts';
import { planServices, type Conflict, type PlannedWrite } from './plan-services.ts';
import { rowId } from './row-id.ts';
import { ServicesView, viewedTypes } from './services-view.ts';
import type { VipNetworks } from './vip-pool.ts';

/** Hints that arrive within this time are one look, in milliseconds. */
const GATHER_MS = 5;
/** The safety pass, in milliseconds: everything is read and planned again, for what no hint told. */
const SAFETY_MS = 60_000;
const HOUR_MS = 3_600_000;

export type ServicesOptions = {
  readonly store: ResourceStore;
  /** Name of the own zone. */
  readonly zone: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Whether the own ingress is told by MeshZoneAddress too, for Kuma peers (decisions D27); true if left out. */
  readonly publishZoneAddress?: boolean;
  /** How long a generated service without proxies stays, in milliseconds; null makes no services; an hour if left out. */
  readonly graceMs?: number | null;
  /** Where virtual addresses come from. */
  readonly vipNetworks?: VipNetworks;
  /** How often everything is read and planned again, in milliseconds; a minute if left out. */
  readonly safetyMs?: number;
  /** Is told of every look, for those who measure. */
  readonly onPass?: (pass: Pass) => void;
};

/** A look that is over: what it wrote is committed. */
export type Pass = {
  /** Whether everything was read again. */
  readonly isFull: boolean;
  readonly writes: number;
  readonly durationMs: number;
};

/** Runs until the signal aborts. Rejects when the store does not answer: to be started again, from what the table holds. */
export async function runServices(options: ServicesOptions, signal: AbortSignal): Promise<void> {
  const reconciler = new ServicesReconciler(options);
  await together(
    signal,
    (either) => reconciler.follow(either),
    (either) => reconciler.work(either),
  );
}

class ServicesReconciler {
  readonly #options: ServicesOptions;
  readonly #view: ServicesView;
  readonly #hints = new ChangeHints(viewedTypes);
  /** Service → the conflict that was logged last. */
  readonly #told = new Map<string, string>();

  constructor(options: ServicesOptions) {
    this.#options = options;
    this.#view = new ServicesView(options.zone, options.vipNetworks);
  }

  async follow(signal: AbortSignal): Promise<void> {
    for await (const change of this.#options.store.changes(signal)) this.#hints.add(change);
  }

  async work(signal: AbortSignal): Promise<void> {
    const { clock, safetyMs = SAFETY_MS } = this.#options;
    let safetyAt = clock.now().getTime() + safetyMs;
    let wakeAt: number | null = null;
    while (!signal.aborted) {
      const wait = Math.min(safetyAt, wakeAt ?? Infinity) - clock.now().getTime();
      await clock.sleep(Math.max(wait, 0), AbortSignal.any([signal, this.#hints.arrival()]));
      if (!this.#hints.isEmpty()) await clock.sleep(GATHER_MS, signal);
      if (signal.aborted) return;
      if (clock.now().getTime() >= safetyAt) {
        safetyAt = clock.now().getTime() + safetyMs;
        this.#hints.add({ kind: 'all' });
        this.#view.touchAll();
      }
      wakeAt = await this.#pass();
    }
  }

  /** One look: reads what the hints name, plans, writes. @returns when to look again without a hint */
  async #pass(): Promise<number | null> {
    const began = performance.now();
    const hints = this.#hints.take();
    await this.#read(hints);
    const { clock, log, publishZoneAddress = true, graceMs = HOUR_MS } = this.#options;
    const plan = planServices(this.#view, { now: clock.now(), publishZoneAddress, graceMs });
    for (const conflict of plan.conflicts) this.#tell(conflict);
    if (plan.withoutVip > 0)
      log.error({ services: plan.withoutVip }, 'all virtual addresses are held; give the zone a larger network with ipam.*.cidr');
    await this.#write(plan.writes);
    const isFull = hints.types.length === viewedTypes.length;
    this.#options.onPass?.({ isFull, writes: plan.writes.length, durationMs: performance.now() - began });
    return plan.wakeAt;
  }

  async #read({ types, keys }: Hints): Promise<void> {
    const { store } = this.#options;
    for (const type of types) this.#view.putAll(type, await store.list({ type }));
    const rows = new Map((await store.getMany(keys)).map((row) => [rowId(row), row]));
    for (const key of keys) {
      const row = rows.get(rowId(key));
      if (row === undefined) this.#view.remove(key);
      else this.#view.put(row);
    }
  }

  async #write(planned: readonly PlannedWrite[]): Promise<void> {
    if (planned.length === 0) return;
    const { store, log } = this.#options;
    const outcomes = await store.writeBatch(planned.map(writeOf));
    for (const [index, outcome] of outcomes.entries()) {
      const write = planned[index];
      if (write === undefined) continue;
      const { type, mesh, name } = write.op === 'put' ? write.row : write.before;
      const key = { type, mesh, name };
      if ('version' in outcome) {
        if (write.op === 'put') this.#view.accept({ ...write.row, version: outcome.version });
        else this.#view.remove(key);
      } else if (outcome.result === 'rejected') {
        log.warn({ ...key, reason: outcome.message }, 'a service could not be written; it is tried again in a minute');
      } else {
        // Somebody else wrote it since it was read: read it again and decide anew.
        this.#view.touch(key);
        this.#hints.add({ kind: 'keys', keys: [key] });
      }
    }
    log.debug({ writes: planned.length }, 'services were brought up to date');
  }

  #tell({ mesh, service, dataplanes }: Conflict): void {
    const key = rowId({ type: 'MeshService', mesh, name: service });
    const text = dataplanes.join();
    if (this.#told.get(key) === text) return;
    this.#told.set(key, text);
    this.#options.log.warn(
      { mesh, service, dataplanes: dataplanes.slice(0, 10), of: dataplanes.length },
      'Dataplanes of one service have other ports than the service; give them the same inbounds',
    );
  }
}

function writeOf(planned: PlannedWrite): Write {
  if (planned.op === 'delete') {
    const { type, mesh, name, version } = planned.before;
    return { op: 'delete', key: { type, mesh, name }, expectVersion: version };
  }
  const { row, before } = planned;
  const { type, mesh, name, labels, spec, status, owner, syncVersion } = row;
  const content = { key: { type, mesh, name }, labels, spec, status, syncVersion };
  if (before === undefined) return { op: 'create', ...content, owner };
  return { op: 'update', ...content, expectVersion: before.version };
}
