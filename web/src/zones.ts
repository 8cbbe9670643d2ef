// The zones of the fleet, as the pages need them: a few words of each overview.
import type { Answer } from '../../src/api/answers.ts';
import type { Tone } from './parts/state-mark.tsx';
import type { LiveEvent } from './events.ts';
import { get } from './session.ts';

type Overview = Answer<'ZoneOverview'>;
export type ZoneState = Overview['sync']['state'];
export type SyncProblem = NonNullable<Overview['syncProblems']>[number];

export type Zone = {
  readonly name: string;
  readonly state: ZoneState;
  readonly since: string | null;
  readonly pending: readonly string[];
  readonly lagMs: number;
  readonly reason: string;
  readonly problems: readonly SyncProblem[];
  readonly warnings: readonly string[];
  readonly version: string;
};

type Page<T> = { readonly total: number; readonly items: readonly T[] };

const PAGE_SIZE = 1_000;
/** Requests at once: a browser has six connections, and other parts of the page need some. */
const AT_ONCE = 3;
/** Zones that are asked for one by one. */
const MAX_ASKED = 20;

/** All zones, by name. */
export async function loadZones(signal: AbortSignal): Promise<readonly Zone[]> {
  const first = await loadPage(0, signal);
  const offsets = Array.from({ length: Math.max(0, Math.ceil(first.total / PAGE_SIZE) - 1) }, (_, at) => (at + 1) * PAGE_SIZE);
  const pages = [first];
  for (let at = 0; at < offsets.length; at += AT_ONCE)
    pages.push(...(await Promise.all(offsets.slice(at, at + AT_ONCE).map((offset) => loadPage(offset, signal)))));
  return pages.flatMap(({ items }) => items);
}

async function loadPage(offset: number, signal: AbortSignal): Promise<Page<Zone>> {
  const { total, items } = await get<Page<Overview>>(
    `/zones/_overview?size=${String(PAGE_SIZE)}&offset=${String(offset)}`,
    signal,
  );
  return { total, items: items.map(zoneOf) };
}

/** The zones after an event. What an event does not tell of a zone is asked for. */
export async function patchZones(
  zones: readonly Zone[],
  event: NonNullable<LiveEvent>,
  signal: AbortSignal,
): Promise<readonly Zone[]> {
  if (event.topic === 'lag') {
    const lags = new Map(event.data.items.map((item) => [item.name, item]));
    return zones.map((zone) => ({ ...zone, ...lags.get(zone.name) }));
  }
  if (event.topic !== 'zones') return zones;
  const byName = new Map(zones.map((zone) => [zone.name, zone]));
  const unclear: string[] = [];
  for (const item of event.data.items) {
    const before = byName.get(item.name);
    if ('isRemoved' in item) byName.delete(item.name);
    else if (before === undefined || item.syncProblems !== before.problems.length || item.syncProblems > 0)
      unclear.push(item.name);
    else byName.set(item.name, { ...before, ...syncOf(item.sync), version: item.version ?? before.version });
  }
  if (unclear.length > MAX_ASKED) return await loadZones(signal);
  for (const zone of await Promise.all(unclear.map((name) => loadZone(name, signal)))) byName.set(zone.name, zone);
  return [...byName.values()].sort((a, b) => compare(a.name, b.name));
}

async function loadZone(name: string, signal: AbortSignal): Promise<Zone> {
  return zoneOf(await get<Overview>(`/zones/${encodeURIComponent(name)}/_overview`, signal));
}

function syncOf({
  state,
  since,
  pending,
  lagMs,
  reason,
}: Overview['sync']): Pick<Zone, 'state' | 'since' | 'pending' | 'lagMs' | 'reason'> {
  return { state, since, pending, lagMs, reason };
}

export function zoneOf({ name, sync, syncProblems = [], warnings = [], zoneInsight }: Overview): Zone {
  const version = zoneInsight?.subscriptions?.at(-1)?.version?.kumaCp?.version ?? '';
  return { name, ...syncOf(sync), problems: syncProblems, warnings, version };
}

/** How a zone does, all things together: one that lacks resources is not well. */
export function toneOf({ state, problems }: Pick<Zone, 'state' | 'problems'>): Tone {
  if (state === 'refused' || problems.length > 0) return 'bad';
  if (state === 'lagging') return 'late';
  return state === 'online' ? 'ok' : 'away';
}

/** The word beside the mark. */
export function wordOf({ state, problems }: Pick<Zone, 'state' | 'problems'>): string {
  return problems.length > 0 && state === 'online' ? 'refuses resources' : state;
}

/** Why a zone is not well, in one line; `''` for one that is. */
export function reasonOf({ reason, problems, warnings }: Zone): string {
  const [problem] = problems;
  if (reason !== '') return reason;
  return problem === undefined ? (warnings[0] ?? '') : problemText(problem);
}

export function problemText({ kind, type, resources, count, message }: SyncProblem): string {
  const named = resources.slice(0, 3).join(', ') + (count > 3 ? ` and ${String(count - 3)} more` : '');
  return `${type} ${named} ${kind}: ${message}`;
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
