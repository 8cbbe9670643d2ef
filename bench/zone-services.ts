// The reconciler of a zone's services on a PostgreSQL of its own: a change of one Dataplane, whose cost must not grow with the size of the
// zone, and the safety pass.
import { systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { reconcile, type Pass } from '../src/reconcile/reconcile.ts';
import { servicesReconciler } from '../src/reconcile/services/services-reconciler.ts';
import { openStore } from '../src/store/open-store.ts';
import type { ResourceStore } from '../src/store/resource-store.ts';
import type { Context, SettingsOf, Sections } from './context.ts';
import { cpuMs, nowMs, percentile, repeat, type Repeated } from './measure.ts';
import { budgets, metricsOf, type Budget, type Metric } from './metric.ts';
import type { Postgres } from './postgres.ts';
import type { Judged } from './report.ts';
import { dataplaneWrite, seedWrites, ZONE } from './zone-rows.ts';

export const sizes = {
  services: [2_000, 'MeshServices that the generator makes'],
  dataplanes: [5_000, 'Dataplanes behind them, spread evenly'],
  warmUp: [100, 'changes before the counted ones'],
  changes: [400, 'counted changes, one after the other'],
  safetyPasses: [5, 'safety passes of which the median counts'],
} as const;

type ZoneSizes = SettingsOf<typeof sizes>;

/** For 2,000 services × 5,000 Dataplanes on two cores, the database included. */
const zoneBudgets = { changeP99Ms: { most: 100 }, safetySeconds: { most: 1 } } as const satisfies Record<string, Budget>;
const BATCH = 2_000;

export const judged: Judged<ZoneSizes> = {
  sizes: '2,000 services × 5,000 Dataplanes',
  by: ({ budget }, { services, dataplanes }) =>
    (budget !== zoneBudgets.changeP99Ms && budget !== zoneBudgets.safetySeconds) ||
    (services >= sizes.services[0] && dataplanes >= sizes.dataplanes[0]),
};

/** Every change must be one, at half the size too. */
export function checkSizes({ warmUp, changes, dataplanes }: ZoneSizes): void {
  if ((warmUp + changes) * 2 > dataplanes)
    throw new Error('--dataplanes: give at least twice as many as --warm-up and --changes together');
}

export const zoneServices: Sections<ZoneSizes> = {
  names: { services: 'a change of one Dataplane, the safety pass; and a change at half the size' },
  measure: measureServices,
};

/** @property change from before the write of a Dataplane to the commit of its service, with the CPU of this process */
type Findings = { readonly change: Repeated; readonly safetySeconds: number };

async function measureServices({ settings, postgres, say }: Context<ZoneSizes>): Promise<Metric[]> {
  const measure = async (size: ZoneSizes): Promise<Findings> => {
    say(`${String(size.services)} services, ${String(size.dataplanes)} Dataplanes`);
    return await measureZone(await postgres(), size);
  };
  const whole = await measure(settings);
  const halfOf = (count: number): number => Math.ceil(count / 2);
  const half = await measure({ ...settings, services: halfOf(settings.services), dataplanes: halfOf(settings.dataplanes) });
  const metric = metricsOf('services');
  const change = 'a Dataplane changes until its service is written';
  return [
    metric(`${change}, p50`, 'ms', whole.change.p50Ms),
    metric(`${change}, p99`, 'ms', whole.change.p99Ms, { budget: zoneBudgets.changeP99Ms }),
    metric('CPU of the zone for it', 'ms', whole.change.cpuMs),
    metric('… against half the size', '×', whole.change.cpuMs / half.change.cpuMs, { budget: budgets.scalingFactor }),
    metric('safety pass', 's', whole.safetySeconds, { budget: zoneBudgets.safetySeconds }),
  ];
}

async function measureZone(postgres: Postgres, size: ZoneSizes): Promise<Findings> {
  const database = await postgres.createEmptyDatabase();
  const store = await openStore(database, { clock: systemClock, log: createLogger('warn') });
  try {
    const writes = seedWrites(size.services, size.dataplanes);
    for (let at = 0; at < writes.length; at += BATCH) await store.writeBatch(writes.slice(at, at + BATCH));
    const hasWritten = ({ writes: some }: Pass): boolean => some > 0;
    await withServices(store, undefined, async (next) => {
      for (let written = 0; written < size.services;) written += (await next(hasWritten)).writes;
    });
    const change = await withServices(store, undefined, async (next) => {
      await next(({ isFull }) => isFull);
      const cpu = (): number => cpuMs(process.cpuUsage()) / 1_000;
      return await repeat(cpu, size, async (count) => {
        const began = nowMs();
        const done = next(hasWritten);
        await store.write(dataplaneWrite((count * 7) % size.dataplanes, size.services, false));
        await done;
        return nowMs() - began;
      });
    });
    const safetySeconds = await withServices(store, 100, async (next) => {
      const passes: number[] = [];
      for (let count = 0; count <= size.safetyPasses; count += 1)
        passes.push((await next(({ isFull }) => isFull)).durationMs / 1000);
      // The first is the first look of this reconciler.
      return percentile(passes.slice(1), 0.5);
    });
    return { change, safetySeconds };
  } finally {
    await store.close();
    await postgres.dropDatabase(database);
  }
}

type Next = (isMeant: (pass: Pass) => boolean) => Promise<Pass>;

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
