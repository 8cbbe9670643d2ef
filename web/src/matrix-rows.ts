// The rows of a matrix of resources and zones: those in sight are loaded, and again when something changes.
import { useRef } from 'preact/hooks';
import type { Answer } from '../../src/api/answers.ts';
import { useLive, type Live, type Loading } from './live.ts';
import type { Range } from './parts/matrix.tsx';
import { get } from './session.ts';

type Page = Answer<'SyncMatrix'>;
type Item = Page['items'][number];
export type Verdict = Item['verdicts'][number];
export type ResourceRow = Omit<Item, 'runs'> & {
  /** The index of a verdict for each zone. */
  readonly of: Uint16Array;
  /** For how many zones each verdict counts. */
  readonly counts: readonly number[];
};
export type Rows = {
  readonly total: number;
  readonly zones: readonly string[];
  readonly rows: ReadonlyMap<number, ResourceRow>;
};

/** Rows are loaded from a multiple of this on. */
const CHUNK = 20;
/** With more zones than this, an answer is not asked for at each event. */
const MANY_ZONES = 1_000;
const CALM_MS = 5_000;

/** @param path of the list, such as `/meshes/shop/meshtimeouts` @param type only changes of this type count */
export function useMatrixRows(path: string, type: string, text: string, { first, end }: Range): Live<Rows> {
  const kept = useRef<{ readonly of: string; readonly rows: Map<number, ResourceRow> }>({ of: '', rows: new Map() });
  const list = `${path} ${text}`;
  if (kept.current.of !== list) kept.current = { of: list, rows: new Map() };
  const { rows } = kept.current;
  const from = first - (first % CHUNK);
  const to = Math.max(from + CHUNK, Math.ceil(end / CHUNK) * CHUNK);
  const load = async (signal: AbortSignal): Promise<Rows> => {
    for (let offset = from; ;) {
      const name = text === '' ? '' : `&name=${encodeURIComponent(text)}`;
      const page = await get<Page>(`${path}/_matrix?size=${String(to - offset)}&offset=${String(offset)}${name}`, signal);
      const { items, total, zones } = page;
      for (const [index, item] of items.entries()) rows.set(offset + index, rowOf(item, zones.length));
      offset += items.length;
      if (offset < to && items.length > 0 && page.next !== null) continue;
      for (const index of rows.keys()) if (index >= total) rows.delete(index);
      return { total, zones, rows: new Map(rows) };
    }
  };
  const patch: Loading<Rows>['patch'] = async (data, event, signal) => {
    if (event.topic === 'changes' && event.data.items.every((item) => item.type !== type)) return data;
    if (data.zones.length > MANY_ZONES) await new Promise((resolve) => setTimeout(resolve, CALM_MS));
    return await load(signal);
  };
  return useLive(`matrix ${list} ${String(from)} ${String(to)}`, ['changes', 'zones'], load, { patch });
}

function rowOf({ runs, ...item }: Item, zones: number): ResourceRow {
  const of = new Uint16Array(zones);
  const counts = item.verdicts.map(() => 0);
  let at = 0;
  for (let run = 0; run < runs.length; run += 2) {
    const count = runs[run + 1] ?? 0;
    const verdict = runs[run] ?? 0;
    of.fill(verdict, at, at + count);
    counts[verdict] = (counts[verdict] ?? 0) + count;
    at += count;
  }
  return { ...item, of, counts };
}
