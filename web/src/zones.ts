// The zones of the fleet, as the pages need them.
import type { Answer } from '../../src/api/answers.ts';
import type { Tone } from './parts/state-mark.tsx';
import type { LiveEvent } from './events.ts';
import { getKept } from './session.ts';

type Overview = Answer<'ZoneOverview'>;
type Summary = Answer<'ZoneSummary'>;
export type ZoneState = Overview['sync']['state'];
export type SyncProblem = NonNullable<Overview['syncProblems']>[number];

export type Zone = {
  readonly name: string;
  readonly state: ZoneState;
  readonly since: string | null;
  readonly lagMs: number;
  /** Why it is not well; `''` for one that is. */
  readonly reason: string;
  /** Resources that it lacks, because they are refused or withheld. */
  readonly lacks: number;
  readonly version: string;
};

/** All zones, by name. */
export async function loadZones(signal: AbortSignal): Promise<readonly Zone[]> {
  const { items } = await getKept<{ items: readonly Summary[] }>('/zones/_summary', signal);
  return items.map(({ name, state, since, lagMs, reason, refused, withheld, version }) => ({
    ...{ name, state, since, lagMs, reason },
    lacks: refused + withheld,
    version: version ?? '',
  }));
}

/** The zones after an event. */
export async function patchZones(zones: readonly Zone[], event: NonNullable<LiveEvent>): Promise<readonly Zone[]> {
  if (event.topic === 'lag') {
    const lags = new Map(event.data.items.map(({ name, lagMs }) => [name, lagMs]));
    return zones.map((zone) => (lags.has(zone.name) ? { ...zone, lagMs: lags.get(zone.name) ?? 0 } : zone));
  }
  if (event.topic !== 'zones') return zones;
  const byName = new Map(zones.map((zone) => [zone.name, zone]));
  for (const item of event.data.items) {
    if ('isRemoved' in item) {
      byName.delete(item.name);
      continue;
    }
    const { name, sync, refused, withheld, reason, version = '' } = item;
    const { state, since, lagMs } = sync;
    byName.set(name, { name, state, since, lagMs, reason, lacks: refused + withheld, version });
  }
  const isNew = byName.size !== zones.length || zones.some(({ name }) => !byName.has(name));
  return isNew ? [...byName.values()].sort((a, b) => compare(a.name, b.name)) : [...byName.values()];
}

/** The zone of an overview. */
export function zoneOf({ name, sync, syncProblems = [], warnings = [], zoneInsight }: Overview): Zone {
  const { state, since, lagMs } = sync;
  const [problem] = syncProblems;
  const reason = sync.reason !== '' ? sync.reason : (problem?.message ?? warnings[0] ?? '');
  const version = zoneInsight?.subscriptions?.at(-1)?.version?.kumaCp?.version ?? '';
  return { name, state, since, lagMs, reason, lacks: syncProblems.length, version };
}

/** How a zone does, all things together: one that lacks resources is not well. */
export function toneOf({ state, lacks }: Pick<Zone, 'state' | 'lacks'>): Tone {
  if (state === 'refused' || lacks > 0) return 'bad';
  if (state === 'lagging') return 'late';
  return state === 'online' ? 'ok' : 'away';
}

/** The word beside the mark. */
export function wordOf({ state, lacks }: Pick<Zone, 'state' | 'lacks'>): string {
  return lacks > 0 && state === 'online' ? 'refuses resources' : state;
}

const RANK: Readonly<Record<Tone, number>> = { bad: 0, late: 1, away: 2, ok: 3 };

const ORDERS: Readonly<Record<string, (a: Zone, b: Zone) => number>> = {
  name: (a, b) => compare(a.name, b.name),
  state: (a, b) => RANK[toneOf(a)] - RANK[toneOf(b)] || compare(a.name, b.name),
  since: (a, b) => compare(a.since ?? '', b.since ?? ''),
  lag: (a, b) => a.lagMs - b.lagMs || compare(a.name, b.name),
  version: (a, b) => compare(a.version, b.version) || compare(a.name, b.name),
};

/** @param order a name of `ORDERS`, with `-` for the other way round */
export function sorted(zones: readonly Zone[], order: string): readonly Zone[] {
  const isDown = order.startsWith('-');
  const by = ORDERS[isDown ? order.slice(1) : order];
  return by === undefined ? zones : zones.toSorted((a, b) => (isDown ? by(b, a) : by(a, b)));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
