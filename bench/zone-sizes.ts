// How large a zone is made, and how often it is changed.
import type { SettingsOf } from './context.ts';

export const sizes = {
  services: [2_000, 'MeshServices that the generator makes'],
  dataplanes: [5_000, 'Dataplanes behind them, spread evenly'],
  warmUp: [100, 'changes before the counted ones'],
  changes: [400, 'counted changes, one after the other'],
  safetyPasses: [5, 'safety passes of which the median counts'],
} as const;

export type ZoneSizes = SettingsOf<typeof sizes>;

/** Every change must be one, at half the size too. */
export function checkSizes({ warmUp, changes, dataplanes }: ZoneSizes): void {
  if ((warmUp + changes) * 2 > dataplanes)
    throw new Error('--dataplanes: give at least twice as many as --warm-up and --changes together');
}
