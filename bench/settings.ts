// The sizes of what is measured with a global: every number is a flag of the command.
import type { SettingsOf } from './context.ts';
import type { Judged } from './report.ts';

export const sizes = {
  zones: [50, 'fake zones that join'],
  resources: [5_000, 'MeshTimeouts on the global'],
  zonesPerProcess: [10, 'fake zones in one process'],
  warmUp: [100, 'changes before the counted ones'],
  changes: [200, 'counted changes, one after the other'],
  neighbourChanges: [2_000, 'counted changes beside bad zones, and as many before and after'],
  attackChanges: [400, 'the same beside each attack'],
  heavyChanges: [200, 'the same beside each heavy caller'],
  burst: [500, 'changes at once'],
  idleSeconds: [15, 'how long to watch an idle server'],
  services: [1_000, 'MeshServices at once from a zone'],
  restSeconds: [3, 'how long each kind of request is measured'],
  scalingZones: [20, 'zones of the smallest size of the scaling table'],
  scalingResources: [1_000, 'MeshTimeouts of the smallest size of the scaling table'],
} as const;

export type Settings = SettingsOf<typeof sizes>;

/** Scaling has sizes of its own, and some budgets are for other numbers of zones. */
export const judged: Judged<Settings> = {
  sizes: '50 zones × 5,000 resources',
  by: ({ section, budget }, { zones, resources }) =>
    section === 'scaling' || budget?.zones === zones || (zones === sizes.zones[0] && resources === sizes.resources[0]),
};
