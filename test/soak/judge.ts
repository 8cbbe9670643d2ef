// What the samples of a soak say: whether memory grew, and what was left over. Pure.

/** One process at one time. */
export type ProcessSample = {
  /** `replica-0`, `zone-1`. */
  readonly name: string;
  readonly role: 'global' | 'zone';
  /** How many processes of this name were before it. */
  readonly life: number;
  readonly memoryMb: number;
  readonly heapMb: number;
  /** Open files, sockets included. */
  readonly files: number;
  /** Resources that keep Node alive, by kind: sockets, timers, requests. */
  readonly resources: Readonly<Record<string, number>>;
};

export type Sample = {
  /** Seconds since the start of the run. */
  readonly at: number;
  /** Those that answered. */
  readonly processes: readonly ProcessSample[];
};

export type Growth = { readonly name: string; readonly seconds: number; readonly secondMb: number; readonly lastMb: number };

type Point = { readonly at: number; readonly value: number };

/** The median of the last quarter beside that of the second, by time; null where a quarter has no point. */
export function growthOf(name: string, points: readonly Point[]): Growth | null {
  const [first, last] = [points[0]?.at ?? 0, points.at(-1)?.at ?? 0];
  const inQuarter = (quarter: number): number[] =>
    points.filter(({ at }) => Math.min(3, Math.floor((4 * (at - first)) / (last - first))) === quarter).map(({ value }) => value);
  const [second, end] = [inQuarter(1), inQuarter(3)];
  if (second.length === 0 || end.length === 0) return null;
  return { name, seconds: last - first, secondMb: median(second), lastMb: median(end) };
}

/** The memory of the process of each role that was sampled for the longest time. A process that starts again is another one. */
export function longestSeries(samples: readonly Sample[]): Growth[] {
  const series = new Map<string, { readonly role: string; readonly points: Point[] }>();
  for (const { at, processes } of samples)
    for (const { name, role, life, memoryMb } of processes) {
      const key = `${name}, process ${String(life + 1)}`;
      const known = series.get(key) ?? { role, points: [] };
      known.points.push({ at, value: memoryMb });
      series.set(key, known);
    }
  return (['global', 'zone'] as const).flatMap((role) => {
    const [longest] = [...series]
      .filter(([, one]) => one.role === role)
      .toSorted(([, one], [, other]) => secondsOf(other.points) - secondsOf(one.points));
    const growth = longest === undefined ? null : growthOf(longest[0], longest[1].points);
    return growth === null ? [] : [growth];
  });
}

/** The memory of all control planes together, of the samples in which none was away. @param processes how many there are */
export function summedMemory(samples: readonly Sample[], processes: number): Growth | null {
  const complete = samples.filter((sample) => sample.processes.length === processes);
  const points = complete.map(({ at, processes: all }) => ({ at, value: all.reduce((sum, { memoryMb }) => sum + memoryMb, 0) }));
  return growthOf('all control planes', points);
}

/** How much more there is at the end than before, the largest of the roles. */
export type Left = { readonly role: string; readonly before: number; readonly after: number };

/**
 * Files, sockets and timers of all processes of a role together: which replica a zone is connected to does not matter then.
 * @param count of one process
 */
export function leftOver(before: Sample, after: Sample, count: (process: ProcessSample) => number): Left[] {
  const sumOf = ({ processes }: Sample, role: string): number =>
    processes.filter((one) => one.role === role).reduce((sum, one) => sum + count(one), 0);
  return ['global', 'zone'].map((role) => ({ role, before: sumOf(before, role), after: sumOf(after, role) }));
}

export function resourcesOf({ resources }: ProcessSample): number {
  return Object.values(resources).reduce((sum, count) => sum + count, 0);
}

/** The kinds of resources of which there are more, for people: `Timeout +3`. */
export function moreResources(before: Sample, after: Sample): string[] {
  const sums = (sample: Sample): Map<string, number> => {
    const found = new Map<string, number>();
    for (const { role, resources } of sample.processes)
      for (const [kind, count] of Object.entries(resources))
        found.set(`${role} ${kind}`, (found.get(`${role} ${kind}`) ?? 0) + count);
    return found;
  };
  const [first, last] = [sums(before), sums(after)];
  return [...last].flatMap(([kind, count]) => {
    const more = count - (first.get(kind) ?? 0);
    return more > 0 ? [`${kind} +${String(more)}`] : [];
  });
}

function secondsOf(points: readonly Point[]): number {
  return (points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? NaN) : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}
