// How large the fleets are made; the defaults are the sizes of the goals.
import type { SettingsOf } from './context.ts';
import type { Budget } from './metric.ts';
import type { Judged } from './report.ts';

export const sizes = {
  oneZones: [2_000, 'zones on one process'],
  oneResources: [20_000, 'MeshTimeouts on one process'],
  zones: [10_000, 'zones on all replicas'],
  resources: [100, 'MeshTimeouts on all replicas'],
  replicas: [4, 'replicas of global on one PostgreSQL'],
  zonesPerProcess: [1_000, 'fake zones in one process'],
  warmUp: [10, 'changes before the counted ones'],
  changes: [50, 'counted changes, one after the other'],
  idleSeconds: [15, 'how long to watch idle servers'],
} as const;

export type FleetSizes = SettingsOf<typeof sizes>;

export const budgets = {
  oneChangeP99Ms: { most: 300 },
  oneMemoryMb: { most: 1_500 },
  oneIdlePercent: { most: 10 },
  changeP99Ms: { most: 3_000 },
  killSeconds: { most: 10 },
  backSeconds: { most: 60 },
  rowsASecond: { most: 200 },
  /** Of the share of a replica. */
  largest: { most: 1.3 },
  sentAgain: { most: 0 },
  stores: { most: 1 },
} as const satisfies Record<string, Budget>;

/** Budgets that hold for every size. */
const ALWAYS: readonly Budget[] = [budgets.sentAgain, budgets.stores];

export const judged: Judged<FleetSizes> = {
  sizes: '2,000 zones × 20,000 resources on one process, 10,000 × 100 on four replicas',
  by: ({ section, budget }, settings) => {
    if (budget !== undefined && ALWAYS.includes(budget)) return true;
    const keys = section === 'one' ? (['oneZones', 'oneResources'] as const) : (['zones', 'resources', 'replicas'] as const);
    return keys.every((key) => settings[key] === sizes[key][0]);
  },
};

/** What a replica needs for that many zones from one address, with few connections of its own to PostgreSQL. */
export function replicaEnv(zones: number): Record<string, string> {
  const connections = String(2 * zones + 100);
  return {
    MERIDIAN_MULTIZONE_GLOBAL_KDS_CONNECTIONS_PER_ADDRESS: connections,
    MERIDIAN_MULTIZONE_GLOBAL_KDS_CONNECTIONS_TOTAL: connections,
    MERIDIAN_MULTIZONE_GLOBAL_KDS_SHARING_ENABLED: 'true',
    MERIDIAN_STORE_POSTGRES_MAX_OPEN_CONNECTIONS: '10',
  };
}
