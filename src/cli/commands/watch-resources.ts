// `get -w`: the existing items, then the changes. Output is rows of a table or, for programs, one line or document for each event.
import { isDeepStrictEqual } from 'node:util';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Labels } from '../../resource/types.ts';
import type { ApiClient, Item } from '../client/api-client.ts';
import { columnsOf } from '../views/columns.ts';
import { lasting } from '../client/lasting-watch.ts';
import { isForPrograms, note, print, serialize, type Format } from '../output.ts';
import { TableLayout } from '../views/table.ts';

type Watched = {
  readonly mesh?: string | undefined;
  readonly name?: string | undefined;
  readonly filter: Record<string, string>;
  /** What the server has no filter for; null when it filters all. */
  readonly matches: ((labels: Labels) => boolean) | null;
};

type Row = { readonly event: 'there' | 'added' | 'changed' | 'deleted'; readonly item: Item };

/** Until Ctrl-C, through restarts of the control plane. @throws MeridianError when it cannot be watched, or refuses */
export async function watchResources(client: ApiClient, info: TypeInfo, what: Watched, output: Format): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const show = isForPrograms(output) ? printerForPrograms(output) : printerOfTable(info, output === 'wide');
  for await (const rows of rowsOf(lasting(client), info, what, stop.signal)) show(rows);
}

/**
 * First all existing items together, then each change by itself. A deletion shows the last known item. An item that no longer
 * matches the filter counts as deleted, as with the filters of the server. Only matching items are kept.
 */
export async function* rowsOf(
  client: Pick<ApiClient, 'watch'>,
  info: TypeInfo,
  what: Watched,
  signal: AbortSignal,
): AsyncGenerator<Row[]> {
  const known = new Map<string, Item>();
  // Items known before the list was sent again, and not in it so far.
  let missing = new Map<string, Item>();
  let isSynced = false;
  for await (const { event, data } of client.watch(info, what, signal)) {
    if (event === 'begun') {
      missing = new Map(known);
      continue;
    }
    if (event === 'synced') {
      if (!isSynced) yield [...known.values()].map((item) => ({ event: 'there', item }));
      for (const [id, item] of missing) {
        known.delete(id);
        yield [{ event: 'deleted', item }];
      }
      missing.clear();
      isSynced = true;
      continue;
    }
    const item = data as Item;
    const id = JSON.stringify([item.mesh ?? '', item.name]);
    const before = known.get(id);
    missing.delete(id);
    if (event === 'delete' || what.matches?.(item.labels ?? {}) === false) {
      known.delete(id);
      if (isSynced && before !== undefined) yield [{ event: 'deleted', item: before }];
    } else if (!isDeepStrictEqual(before, item)) {
      known.set(id, item);
      if (isSynced) yield [{ event: before === undefined ? 'added' : 'changed', item }];
    }
  }
}

function printerForPrograms(output: 'json' | 'yaml'): (rows: readonly Row[]) => void {
  return (rows) => {
    for (const { event, item } of rows)
      print(
        output === 'json' ? JSON.stringify({ event, resource: item }) : `---\n${serialize({ event, resource: item }, output)}`,
      );
  };
}

/** Rows of later events keep to the columns of the first ones, as far as their cells fit. */
function printerOfTable(info: TypeInfo, wide: boolean): (rows: readonly Row[]) => void {
  const columns = [
    { head: 'EVENT', of: ({ event }: Row) => event },
    ...columnsOf(info, { wide }).map(({ head, of }) => ({ head, of: ({ item }: Row) => of(item) })),
  ];
  const layout = new TableLayout(columns.map(({ head }) => (head === 'EVENT' ? 'deleted' : head)));
  let isFirst = true;
  return (rows) => {
    const cells = rows.map((row) => columns.map(({ of }) => of(row)));
    const lines = layout.lines(isFirst ? [columns.map(({ head }) => head), ...cells] : cells);
    if (isFirst && rows.length === 0) note(`no ${info.plural.toLowerCase()} yet; waiting for changes`);
    for (const line of lines) print(line);
    isFirst = false;
  };
}
