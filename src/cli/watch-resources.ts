// `get -w`: what is there, then what changes, as rows of a table or as one line or document an event for programs.
import type { TypeInfo } from '../resource/type-registry.ts';
import type { ApiClient, Item } from './api-client.ts';
import { columnsOf } from './columns.ts';
import { isForPrograms } from './options.ts';
import { note, print, serialize, type Format } from './output.ts';

type Watched = {
  readonly mesh?: string | undefined;
  readonly name?: string | undefined;
  readonly filter: Record<string, string>;
};

type Row = { readonly event: 'there' | 'added' | 'changed' | 'deleted'; readonly item: Item };

/** Until Ctrl-C. @throws MeridianError `unavailable` when the watch ends although nobody stopped it */
export async function watchResources(client: ApiClient, info: TypeInfo, what: Watched, output: Format): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const show = isForPrograms(output) ? printerForPrograms(output) : printerOfTable(info, output === 'wide');
  for await (const rows of rowsOf(client, info, what, stop.signal)) show(rows);
}

/** First all that is there, together; then each change by itself. A deletion shows what was known of the item. */
async function* rowsOf(client: ApiClient, info: TypeInfo, what: Watched, signal: AbortSignal): AsyncGenerator<Row[]> {
  const known = new Map<string, Item>();
  let isSynced = false;
  for await (const { event, data } of client.watch(info, what, signal)) {
    if (event === 'synced') {
      if (!isSynced) yield [...known.values()].map((item) => ({ event: 'there', item }));
      isSynced = true;
      continue;
    }
    const item = data as Item;
    const id = JSON.stringify([item.mesh ?? '', item.name]);
    const before = known.get(id);
    if (event === 'delete') {
      known.delete(id);
      if (isSynced) yield [{ event: 'deleted', item: before ?? item }];
    } else {
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
  const widths = columns.map(({ head }) => head.length);
  widths[0] = 'deleted'.length;
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('   ')
      .trimEnd();
  let isFirst = true;
  return (rows) => {
    const cells = rows.map((row) => columns.map(({ of }) => of(row)));
    for (const row of cells) for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
    if (isFirst) print(line(columns.map(({ head }) => head)));
    if (isFirst && rows.length === 0) note(`no ${info.plural.toLowerCase()} yet; waiting for changes`);
    for (const row of cells) print(line(row));
    isFirst = false;
  };
}
