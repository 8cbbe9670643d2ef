// The Chromium that the page is measured in, the sizes of a measurement and its budgets.
import { chromium, type Browser } from 'playwright-core';
import { findChromium, NO_CHROMIUM } from '../test/support/find-chromium.ts';
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
  /** Of a core, for one tab. */
  openPercent: { most: 0.2 },
  noisePercent: { most: 0.05 },
} as const satisfies Record<string, Budget>;

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

/** @throws Error if this machine has none */
export async function startChromium(): Promise<Browser> {
  const found = await findChromium(process.env);
  if (found === null) throw new Error(NO_CHROMIUM);
  return await chromium.launch({ executablePath: found.path, args: FLAGS });
}
