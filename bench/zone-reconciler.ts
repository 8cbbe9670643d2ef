// The reconciler of a zone's services on a PostgreSQL of its own: the first look, a change of one Dataplane, the safety pass.
import { systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { openStore } from '../src/store/open-store.ts';
import type { ResourceStore } from '../src/store/resource-store.ts';
import type { Pass } from '../src/reconcile/reconcile.ts';
import { reconcile } from '../src/reconcile/reconcile.ts';
import { servicesReconciler } from '../src/reconcile/services/services-reconciler.ts';
import { cpuMs, nowMs, percentile } from './measure.ts';
import type { Postgres } from './postgres.ts';
import { dataplaneWrite, seedWrites, ZONE } from './zone-rows.ts';
import type { ZoneSizes } from './zone-sizes.ts';

export type ZoneFindings = {
  /** From the start to all services made and written. */
  readonly firstLookSeconds: number;
  /** From before the write of a Dataplane to the commit of its service. */
  readonly changeP50Ms: number;
  readonly changeP99Ms: number;
  /** CPU of this process, the write of the Dataplane included. */
  readonly changeCpuMs: number;
  /** Rows that the reconciler wrote a change. */
  readonly writesPerChange: number;
  readonly safetySeconds: number;
};

const BATCH = 2_000;

export async function measureZone(postgres: Postgres, size: ZoneSizes): Promise<ZoneFindings> {
  const database = await postgres.createEmptyDatabase();
  const store = await openStore(database, { clock: systemClock, log: createLogger('warn') });
  try {
    const writes = seedWrites(size.services, size.dataplanes);
    for (let at = 0; at < writes.length; at += BATCH) await store.writeBatch(writes.slice(at, at + BATCH));
    const first = await withServices(store, undefined, async (next) => {
      const began = nowMs();
      let written = 0;
      while (written < size.services) written += (await next(({ writes: some }) => some > 0)).writes;
      return (nowMs() - began) / 1000;
    });
    const changes = await withServices(store, undefined, async (next) => {
      await next(({ isFull }) => isFull);
      return await measureChanges(store, size, next);
    });
    const safety = await withServices(store, 100, async (next) => {
      const passes: number[] = [];
      for (let count = 0; count <= size.safetyPasses; count += 1)
        passes.push((await next(({ isFull }) => isFull)).durationMs / 1000);
      // The first is the first look of this reconciler.
      return percentile(passes.slice(1), 0.5);
    });
    return { firstLookSeconds: first, ...changes, safetySeconds: safety };
  } finally {
    await store.close();
    await postgres.dropDatabase(database);
  }
}

type Next = (isMeant: (pass: Pass) => boolean) => Promise<Pass>;

async function measureChanges(
  store: ResourceStore,
  { services, dataplanes, warmUp, changes }: ZoneSizes,
  next: Next,
): Promise<Omit<ZoneFindings, 'firstLookSeconds' | 'safetySeconds'>> {
  const times: number[] = [];
  let written = 0;
  let cpuBefore = process.cpuUsage();
  for (let count = 0; count < warmUp + changes; count += 1) {
    if (count === warmUp) cpuBefore = process.cpuUsage();
    const index = (count * 7) % dataplanes;
    const began = nowMs();
    const done = next(({ writes }) => writes > 0);
    await store.write(dataplaneWrite(index, services, false));
    const { writes } = await done;
    if (count < warmUp) continue;
    times.push(nowMs() - began);
    written += writes;
  }
  return {
    changeP50Ms: percentile(times, 0.5),
    changeP99Ms: percentile(times, 0.99),
    changeCpuMs: cpuMs(process.cpuUsage(cpuBefore)) / changes,
    writesPerChange: written / changes,
  };
}

/** Runs the reconciler while `use` works; `next` resolves with the next pass that is meant. */
async function withServices<T>(store: ResourceStore, safetyMs: number | undefined, use: (next: Next) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const waiting = new Set<(pass: Pass) => void>();
  const onPass = (pass: Pass): void => waiting.forEach((tell) => tell(pass));
  const log = createLogger('warn');
  const running = reconcile(
    servicesReconciler({ zone: ZONE, log }),
    { store, log, clock: systemClock, onPass, ...(safetyMs !== undefined && { safetyMs }) },
    stop.signal,
  );
  const next: Next = (isMeant) =>
    new Promise((resolve) => {
      const tell = (pass: Pass): void => {
        if (!isMeant(pass)) return;
        waiting.delete(tell);
        resolve(pass);
      };
      waiting.add(tell);
    });
  try {
    return await Promise.race([use(next), running.then(() => Promise.reject(new Error('the reconciler ended')))]);
  } finally {
    stop.abort();
    await running.catch(() => undefined);
  }
}
