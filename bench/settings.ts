// What one run measures and at which sizes; every number is a flag of the command.
export type Settings = {
  readonly zones: number;
  readonly resources: number;
  readonly zonesPerProcess: number;
  readonly warmUp: number;
  readonly changes: number;
  readonly burst: number;
  readonly idleSeconds: number;
  readonly services: number;
  readonly restSeconds: number;
  readonly startResources: number;
  readonly scalingZones: number;
  readonly scalingResources: number;
};

export const defaults: Settings = {
  zones: 50,
  resources: 5_000,
  zonesPerProcess: 10,
  warmUp: 100,
  changes: 200,
  burst: 500,
  idleSeconds: 10,
  services: 1_000,
  restSeconds: 3,
  startResources: 20_000,
  scalingZones: 20,
  scalingResources: 1_000,
};

/** The sizes for which the budgets were set. */
export function isReference({ zones, resources }: Settings): boolean {
  return zones === defaults.zones && resources === defaults.resources;
}
