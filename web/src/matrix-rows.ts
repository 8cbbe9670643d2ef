// The rows of a matrix of resources and zones: those in sight are loaded, and again when something changes. While one scrolls there is one
// request at a time, for rows that are not known. Invariant: a row out of sight is as an answer gave it, or it is forgotten.
import { useRef } from 'preact/hooks';
import type { Answer } from '../../src/answers/answers.ts';
import type { LiveEvent } from './events.ts';
import { useLive, type Live, type Loading } from './live.ts';
import type { Range } from './parts/matrix.tsx';
import { rowOf, verdictFor, type ResourceRow, type Verdict } from './matrix-row.ts';
import { get } from './session.ts';

type Page = Answer<'SyncMatrix'>;
export type Rows = {
  readonly total: number;
  readonly zones: readonly string[];
  readonly rows: ReadonlyMap<number, ResourceRow>;
};

/** Rows of a request at least, so that those that come in sight next are known. */
const CHUNK = 20;
/** Rows above and below those in sight that are kept. */
const KEPT_ROWS = 100;
/** With changed rows at more places than this, all rows in sight are asked for. */
const MAX_PATCH = 8;

/** Of one list. What an answer repeats stays the same object, so that the page draws what differs. */
type Kept = {
  readonly of: string;
  zones: readonly string[];
  /** Name → index in `zones`. */
  places: ReadonlyMap<string, number>;
  /** That of the answer with the names of the zones: answers with the same version come without them. */
  zonesVersion: string;
  readonly rows: Map<number, ResourceRow>;
  /** The rows as they came. */
  readonly texts: WeakMap<ResourceRow, string>;
  sight: Range;
  /** Whether one scrolls up. */
  isUp: boolean;
  /** Rows of one answer at most, as far as answers have told. */
  most: number;
  /** Whether rows that are not known are on their way. */
  isAsking: boolean;
  /** The newest change that was heard of. Further events of a change say how many zones have it. */
  newestChange: number;
  /** Stored name of each row for which nothing is on its way → the newest change when the row was asked for. */
  readonly settled: Map<string, number>;
};

const nothing = (of: string): Kept => ({
  ...{ of, zones: [], places: new Map(), zonesVersion: '' },
  ...{ rows: new Map(), texts: new WeakMap(), sight: { first: 0, end: 0 } },
  ...{ isUp: false, most: Infinity, isAsking: false },
  ...{ newestChange: -1, settled: new Map() },
});

/** Only changes of the type in the mesh count. @property mesh `-` outside of meshes */
type List = { readonly path: string; readonly type: string; readonly mesh: string };

/** @param list its path is such as `/meshes/shop/meshtimeouts` @param sight the rows that people see */
export function useMatrixRows({ path, type, mesh }: List, text: string, sight: Range): Live<Rows> {
  const kept = useRef<Kept>(nothing(''));
  const list = `${path} ${text}`;
  if (kept.current.of !== list) kept.current = nothing(list);
  const mine = kept.current;
  if (sight.first !== mine.sight.first) mine.isUp = sight.first < mine.sight.first;
  mine.sight = sight;
  const filter = text === '' ? '' : `&name=${encodeURIComponent(text)}`;
  const pageOf = async (offset: number, size: number, signal: AbortSignal): Promise<Page> => {
    const known = mine.zonesVersion === '' ? '' : `&zonesVersion=${mine.zonesVersion}`;
    return await get<Page>(`${path}/_matrix?size=${String(size)}&offset=${String(offset)}${filter}${known}`, signal);
  };
  /** Reads all rows in sight again; the first time some of them, so that they show at once. */
  const load = async (signal: AbortSignal): Promise<Rows> => {
    const heard = mine.newestChange;
    const isFirst = mine.rows.size === 0;
    const { first, end } = mine.sight;
    for (let offset = first; ;) {
      const page = await pageOf(offset, Math.max(1, end - offset), signal);
      keep(mine, page, offset, heard);
      const { items, total } = page;
      offset += items.length;
      if (!isFirst && offset < end && items.length > 0 && page.next !== null) continue;
      for (const index of mine.rows.keys())
        if (index >= total || !(isFirst || (first <= index && index < offset))) mine.rows.delete(index);
      return rowsOf(mine, total);
    }
  };
  const complete = async (data: Rows, signal: AbortSignal): Promise<Rows | null> => {
    const asked = missingIn(mine, data.total);
    if (asked === null) return null;
    const heard = mine.newestChange;
    mine.isAsking = true;
    try {
      const page = await pageOf(asked.at, asked.count, signal);
      if (page.total !== data.total || page.zonesVersion !== mine.zonesVersion) return await load(signal);
      if (page.items.length === 0) return null;
      if (page.items.length < asked.count) mine.most = page.items.length;
      keep(mine, page, asked.at, heard);
      return rowsOf(mine, page.total);
    } finally {
      mine.isAsking = false;
    }
  };
  /** Also after another process answers, which numbers its changes from one again. */
  const loadAll = async (signal: AbortSignal): Promise<Rows> => {
    mine.newestChange = -1;
    mine.settled.clear();
    return await load(signal);
  };
  const isOfList = (change: Change): boolean => change.type === type && (change.mesh ?? '-') === mesh;
  /** Asks for the rows of the changed resources alone, where these are few and known. */
  const patch: Loading<Rows>['patch'] = async (data, events, signal) => {
    const changed = newsOf(mine, events, isOfList);
    if (changed === null) return await load(signal);
    const known = new Map([...mine.rows].map(([index, { storedName }]) => [storedName, index]));
    const isAsked = ([name, mayMove]: readonly [string, boolean]): boolean => {
      const index = known.get(name);
      // A row out of sight only counts if it is new or gone: then others have moved.
      return mayMove || (index !== undefined && isIn(mine.sight, index));
    };
    const asked = [...changed].filter(isAsked).map(([name]) => name);
    const isMoved = [...changed.values()].includes(true);
    for (const [name, index] of known) if (!isIn(mine.sight, index) && (isMoved || changed.has(name))) mine.rows.delete(index);
    if (asked.length === 0) return mine.rows.size < known.size ? rowsOf(mine, data.total) : data;
    const heard = mine.newestChange;
    // By its place and not by its name, which may be a part of many names.
    const runs = runsOf(asked.map((name) => known.get(name) ?? mine.sight.first));
    if (runs.length > MAX_PATCH) return await load(signal);
    for (const { at, count } of runs) {
      const page = await pageOf(at, count, signal);
      const isWhole = page.items.length === Math.min(count, page.total - at);
      if (!isWhole || page.total !== data.total || page.zonesVersion !== mine.zonesVersion) return await load(signal);
      keep(mine, page, at, heard);
    }
    const isHere = (name: string): boolean => mine.rows.get(known.get(name) ?? -1)?.storedName === name;
    if (!asked.every((name) => !known.has(name) || isHere(name))) return await load(signal);
    return rowsOf(mine, data.total);
  };
  return useLive(`matrix ${list}`, ['changes', 'zones'], loadAll, {
    wanted: `${String(sight.first)} ${String(sight.end)}`,
    complete,
    concerns: (event) => {
      if (event.topic === 'changes') return event.data.items.some(isOfList);
      return event.topic !== 'zones' || !event.data.items.every((zone) => isAsShown(mine, zone));
    },
    patch,
  });
}

function isIn({ first, end }: Range, index: number): boolean {
  return first <= index && index < end;
}

function rowsOf({ zones, rows }: Kept, total: number): Rows {
  return { total, zones, rows: new Map(rows) };
}

/** The rows to ask for: those in sight that are not known, and with them some that come in sight next. */
function missingIn({ rows, sight, isUp, most }: Kept, total: number): { readonly at: number; readonly count: number } | null {
  const step = isUp ? -1 : 1;
  const end = Math.min(sight.end, total);
  let at = isUp ? end - 1 : sight.first;
  while (rows.has(at) && isIn({ first: sight.first, end }, at)) at += step;
  if (!isIn({ first: sight.first, end }, at)) return null;
  let count = 1;
  for (let next = at + step; next >= 0 && next < total && !rows.has(next); next += step) {
    if (count >= most || (count >= CHUNK && !isIn(sight, next))) break;
    count += 1;
  }
  return { at: isUp ? at - count + 1 : at, count };
}

/** Neighbours together. */
function runsOf(places: readonly number[]): readonly { readonly at: number; readonly count: number }[] {
  const runs: { readonly at: number; count: number }[] = [];
  for (const place of [...new Set(places)].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && last.at + last.count === place) last.count += 1;
    else runs.push({ at: place, count: 1 });
  }
  return runs;
}

type ZoneItem = Extract<NonNullable<LiveEvent>, { topic: 'zones' }>['data']['items'][number];

/** States of a row in a connected zone that has no problem; events of changes tell when they end. */
const WELL: ReadonlySet<string | undefined> = new Set(['inSync', 'pending']);
const AWAY: ReadonlySet<string | undefined> = new Set(['away', 'turnedAway']);

/** Whether the rows show a zone as the event says. So a zone that is behind for a while costs no request. Other meshes may mean other rows. */
function isAsShown({ places, rows, isAsking }: Kept, zone: ZoneItem): boolean {
  if (isAsking || 'isRemoved' in zone || zone.hasNewProfile === true || !zone.enabled || zone.refused + zone.withheld > 0)
    return false;
  const at = places.get(zone.name);
  if (at === undefined || rows.size === 0) return false;
  const expected = zone.sync.connection === 'online' || zone.sync.connection === 'lagging' ? WELL : AWAY;
  return [...rows.values()].every((row) => {
    const verdict = verdictFor(row, at);
    return verdict?.isSent !== true || expected.has(verdict.state);
  });
}

type Change = Extract<NonNullable<LiveEvent>, { topic: 'changes' }>['data']['items'][number];

/**
 * Stored name of each resource whose row may differ from what is shown → whether other rows may have moved; null where something else
 * changed too.
 */
function newsOf(
  kept: Kept,
  events: readonly NonNullable<LiveEvent>[],
  isOfList: (change: Change) => boolean,
): ReadonlyMap<string, boolean> | null {
  const names = new Map<string, boolean>();
  const { newestChange, settled } = kept;
  const isOther = events.some(({ topic }) => topic !== 'changes');
  for (const { id, name, isNew, isRemoval } of events.flatMap((event) =>
    event.topic === 'changes' ? event.data.items.filter(isOfList) : [],
  )) {
    kept.newestChange = Math.max(kept.newestChange, id);
    if (id <= (settled.get(name) ?? -1)) continue;
    const mayMove = id > newestChange && (isNew || isRemoval);
    names.set(name, names.get(name) === true || mayMove);
  }
  return isOther ? null : names;
}

/** @param heard the newest change that was heard of before the page was asked for */
function keep(kept: Kept, { items, zones = [], zonesVersion }: Page, offset: number, heard: number): void {
  if (zonesVersion !== kept.zonesVersion) {
    kept.zones = zones;
    kept.places = new Map(zones.map((name, at) => [name, at]));
    kept.zonesVersion = zonesVersion;
    kept.rows.clear();
    kept.settled.clear();
  }
  for (const [index, item] of items.entries()) {
    if (item.verdicts.every(isSettled)) kept.settled.set(item.storedName, heard);
    else kept.settled.delete(item.storedName);
    const text = JSON.stringify(item);
    const known = kept.rows.get(offset + index);
    if (known !== undefined && kept.texts.get(known) === text) continue;
    const row = rowOf(item);
    kept.texts.set(row, text);
    kept.rows.set(offset + index, row);
  }
  const { first, end } = kept.sight;
  const near = { first: first - KEPT_ROWS, end: end + KEPT_ROWS };
  for (const index of kept.rows.keys()) if (!isIn(near, index)) kept.rows.delete(index);
}

/** Whether no answer of a zone is awaited: further events of the same change then show nothing new. */
function isSettled({ isSent, state }: Verdict): boolean {
  return !isSent || state === 'inSync' || AWAY.has(state);
}
