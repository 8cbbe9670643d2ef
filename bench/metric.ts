// One measured number beside its floor and its budget. The budgets are data.
export type Budget = {
  readonly most?: number;
  readonly least?: number;
  /** As good as `most`: this many times the floor of the same run. */
  readonly timesFloor?: number;
  /** For how many zones it was set, where that is not 50. */
  readonly zones?: number;
};

export type Metric = {
  readonly section: string;
  readonly name: string;
  readonly unit: string;
  readonly meridian: number;
  /** The least and the most of the values whose median counts. */
  readonly spread?: readonly [least: number, most: number] | undefined;
  readonly floor?: number | undefined;
  readonly budget?: Budget | undefined;
};

type More = Pick<Metric, 'spread' | 'floor' | 'budget'>;

/** Makes the metrics of one section. */
export function metricsOf(section: string): (name: string, unit: string, meridian: number, more?: More) => Metric {
  return (name, unit, meridian, more) => ({ section, name, unit, meridian, ...more });
}

/** For 50 zones and 5,000 MeshTimeouts on two cores, clients included. */
export const budgets = {
  joinSeconds: { most: 1.5, timesFloor: 2 },
  joinCpuSeconds: { most: 1.2, timesFloor: 2 },
  idleCpuPercent: { most: 1 },
  memoryMb: { most: 300 },
  memoryOf500ZonesMb: { most: 450, zones: 500 },
  changeP50Ms: { most: 20 },
  changeP99Ms: { most: 60 },
  changeCpuMs: { most: 25 },
  burstSeconds: { most: 3 },
  putsPerSecond: { least: 5_000 },
  putP99Ms: { most: 40 },
  /** The time of a PUT with history, against one without. */
  historyFactor: { most: 1.1 },
  /** PUTs a second against upserts of pgbench with as many clients. */
  shareOfPgbench1: { least: 0.5 },
  shareOfPgbench8: { least: 0.3 },
  /** The rate of the first 1,000 PUTs of a process, against its rate later. */
  firstPuts: { least: 0.5 },
  getsPerSecond: { least: 5_500 },
  pagesPerSecond: { least: 1_500 },
  tableP50Ms: { most: 40 },
  tableBurstSeconds: { most: 1.5 },
  receiverSeconds: { most: 0.5 },
  /** p99 of a change beside bad zones, against the same without them. */
  neighbourFactor: { most: 1.5 },
  /** The same beside the worst that a single zone can do. */
  attackFactor: { most: 3 },
  /** Milliseconds of one turn of the main thread of a control plane. */
  longestTurnMs: { most: 50 },
  /** CPU of a change of a large thing against that of a small one. */
  sizeFactor: { most: 2 },
  idleAfterLeavePercent: { most: 20 },
  /** Twice the zones, or twice the resources, may not double it. */
  scalingFactor: { most: 2 },
  /** 1,000 changes at 10,000 zones. */
  receiptsMb: { most: 5 },
} as const satisfies Record<string, Budget>;

/** Makes metrics of what was measured in the same way on both sides. */
export function compare<T>(
  section: string,
  meridian: T,
  floor: T,
): (key: NumberKey<T>, name: string, unit: string, budget?: Budget) => Metric {
  const numberOf = (from: T, key: NumberKey<T>): number => Number(from[key] ?? NaN);
  return (key, name, unit, budget) =>
    metricsOf(section)(name, unit, numberOf(meridian, key), { floor: numberOf(floor, key), budget });
}

type NumberKey<T> = { [K in keyof T]-?: T[K] extends number | undefined ? K : never }[keyof T];

export function isWithin({ meridian, floor, budget }: Metric): boolean {
  if (budget === undefined) return true;
  const { most, least, timesFloor } = budget;
  if (least !== undefined) return meridian >= least;
  if (most !== undefined && meridian <= most) return true;
  return timesFloor !== undefined && floor !== undefined && meridian <= timesFloor * floor;
}
