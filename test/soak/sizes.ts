// How long a soak runs, how large it is, and what it may cost.
import type { SettingsOf } from '../../bench/context.ts';
import type { Budget } from '../../bench/metric.ts';
import type { Judged } from '../../bench/report.ts';

export const sizes = {
  minutes: [60, 'length of the run without its end, in which the stores are compared'],
  zones: [200, 'fake zones'],
  realZones: [3, 'zones that are processes with databases of their own'],
  replicas: [2, 'replicas of global on one PostgreSQL'],
  resources: [200, 'policies on global; a zone with a database has up to 50 services'],
  zonesPerProcess: [50, 'fake zones in one process'],
  seed: [1, 'of the plan: the same seed and sizes give the same actions'],
} as const;

export type SoakSizes = SettingsOf<typeof sizes>;

/**
 * Files and resources that a process may have more at the end. A pool holds up to ten connections to PostgreSQL and closes a connection
 * ten seconds after its last use, and a connection of HTTP may end a moment later. A leak of one in each restart of a run of an hour is more.
 */
const SLACK = 4;

export const budgets = {
  /** The last quarter against the second. */
  growth: { most: 1.1 },
  none: { most: 0 },
} as const satisfies Record<string, Budget>;

/** @param processes of the role */
export function leftOverBudget(processes: number): Budget {
  return { most: SLACK * processes };
}

/** In a shorter run a process still compiles its code and fills its caches. */
const LEAST_MINUTES = 20;

export const judged: Judged<SoakSizes> = {
  sizes: `runs of ${String(LEAST_MINUTES)} minutes or more`,
  by: ({ budget }, { minutes }) => budget !== budgets.growth || minutes >= LEAST_MINUTES,
};

/** Of the time, before the first action: it shows what the processes hold when nothing happens. */
const QUIET_PART = 0.1;
/** Longer than pools keep unused connections. */
const MIN_QUIET_SECONDS = 20;
const MAX_QUIET_SECONDS = 60;

export function quietSecondsOf({ minutes }: SoakSizes): number {
  return Math.max(MIN_QUIET_SECONDS, Math.min(MAX_QUIET_SECONDS, minutes * 60 * QUIET_PART));
}
