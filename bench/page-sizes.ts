// How much of the page is measured, and how long.
import type { SettingsOf } from './context.ts';
import type { Budget } from './metric.ts';

export const sizes = {
  zones: [200, 'fake zones on the global whose page is open'],
  zonesPerProcess: [50, 'fake zones in one process'],
  resources: [100, 'MeshTimeouts on that global'],
  tabs: [20, 'tabs that have the same page open: the cost of one is a part of them'],
  seconds: [10, 'how long each page is open, and each of the times without one'],
  turns: [3, 'how often each page is opened: the median counts'],
} as const;

export type PageSizes = SettingsOf<typeof sizes>;

export const budgets = {
  /** Sixty frames a second. */
  frameMs: { most: 16 },
  scriptsKb: { most: 60 },
  allKb: { most: 120 },
  /** Of a core, for one tab. */
  openPercent: { most: 0.2 },
  noisePercent: { most: 0.05 },
} as const satisfies Record<string, Budget>;
