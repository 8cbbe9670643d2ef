// The zones of the fleet, as the pages need them.
import type { Answer } from '../../src/answers/answers.ts';
import type { Tone } from './parts/state-mark.tsx';
import type { LiveEvent } from './events.ts';
import { getKept } from './session.ts';
import { described } from './subscription.ts';

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

/** The zones after the events. */
export async function patchZones(zones: readonly Zone[], events: readonly NonNullable<LiveEvent>[]): Promise<readonly Zone[]> {
  return events.reduce(patched, zones);
}

function patched(zones: readonly Zone[], event: NonNullable<LiveEvent>): readonly Zone[] {
  if (event.topic !== 'lag' && event.topic !== 'zones') return zones;
  const places = placesOf(zones);
  const all = [...zones];
  const added = new Map<string, Zone>();
  const removed = new Set<string>();
  for (const item of event.data.items) {
    const at = places.get(item.name);
    if ('isRemoved' in item) {
      removed.add(item.name);
      added.delete(item.name);
      continue;
    }
    const known = at === undefined ? undefined : all[at];
    const zone = 'sync' in item ? zoneOfEvent(item) : known === undefined ? undefined : { ...known, lagMs: item.lagMs };
    if (zone === undefined) continue;
    removed.delete(item.name);
    if (at === undefined) added.set(item.name, zone);
    else all[at] = zone;
  }
  if (added.size === 0 && removed.size === 0) {
    knownPlaces.set(all, places);
    return all;
  }
  return [...all.filter(({ name }) => !removed.has(name)), ...added.values()].sort((a, b) => compare(a.name, b.name));
}

type ZoneItem = Exclude<Extract<NonNullable<LiveEvent>, { topic: 'zones' }>['data']['items'][number], { isRemoved: true }>;

function zoneOfEvent({ name, sync, refused, withheld, reason, version = '' }: ZoneItem): Zone {
  const { state, since, lagMs } = sync;
  return { name, state, since, lagMs, reason, lacks: refused + withheld, version };
}

/** Name → index, for lists with the same names: an event of a few zones must not cost a look at all of them. */
const knownPlaces = new WeakMap<readonly Zone[], ReadonlyMap<string, number>>();

function placesOf(zones: readonly Zone[]): ReadonlyMap<string, number> {
  const known = knownPlaces.get(zones);
  if (known !== undefined) return known;
  const places = new Map(zones.map(({ name }, at) => [name, at]));
  knownPlaces.set(zones, places);
  return places;
}

type States = ReadonlyMap<string, { readonly tone: Tone; readonly count: number }>;
/** The map and the list count the same zones. */
const knownStates = new WeakMap<readonly Zone[], States>();

/** How many zones are in each state, by its word; and the tone of the word. */
export function statesOf(zones: readonly Zone[]): States {
  const known = knownStates.get(zones) ?? countStates(zones);
  knownStates.set(zones, known);
  return known;
}

function countStates(zones: readonly Zone[]): States {
  const states = new Map<string, { readonly tone: Tone; count: number }>();
  for (const zone of zones) {
    const word = wordOf(zone);
    const state = states.get(word);
    if (state === undefined) states.set(word, { tone: toneOf(zone), count: 1 });
    else state.count += 1;
  }
  return states;
}

/** The zone of an overview. */
export function zoneOf({ name, sync, syncProblems = [], warnings = [], zoneInsight }: Overview): Zone {
  const { state, since, lagMs } = sync;
  const [problem] = syncProblems;
  const reason = sync.reason !== '' ? sync.reason : (problem?.message ?? warnings[0] ?? '');
  const version = described(zoneInsight?.subscriptions)?.version?.kumaCp?.version ?? '';
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

/** Zones that are alike stay in the order of their names. */
const ORDERS: Readonly<Record<string, (a: Zone, b: Zone) => number>> = {
  name: (a, b) => compare(a.name, b.name),
  state: (a, b) => RANK[toneOf(a)] - RANK[toneOf(b)],
  since: (a, b) => compare(a.since ?? '', b.since ?? ''),
  lag: (a, b) => a.lagMs - b.lagMs,
  version: (a, b) => compare(a.version, b.version),
};

/** @param zones by name @param order a name of `ORDERS`, with `-` for the other way round */
export function sorted(zones: readonly Zone[], order: string): readonly Zone[] {
  if (order === 'name') return zones;
  const isDown = order.startsWith('-');
  const by = ORDERS[isDown ? order.slice(1) : order];
  return by === undefined ? zones : zones.toSorted((a, b) => (isDown ? by(b, a) : by(a, b)));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
