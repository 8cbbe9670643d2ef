// The rows that this process has written last, for those who follow the feed: what it tells of is mostly what was written here,
// and need not be read again.
// Invariant: a row is given for the transaction that wrote it alone, and goes when the feed tells of any other one.
import type { ChangedKey } from './resource-store.ts';
import type { Row } from './resource-row.ts';

/** As many as one transaction tells by key. */
const MOST_ROWS = 1_000;

/** @property xid the transaction that wrote the row: its `xmin` */
export type WrittenRow = { readonly xid: string; readonly row: Row };

export class OwnWrites {
  /** By key, the oldest first. */
  readonly #rows = new Map<string, WrittenRow>();

  /** @param written rows of a transaction that is committed */
  keep(written: readonly WrittenRow[]): void {
    for (const one of written) {
      const id = idOf(one.row);
      this.#rows.delete(id);
      this.#rows.set(id, one);
    }
    for (const id of this.#rows.keys()) {
      if (this.#rows.size <= MOST_ROWS) return;
      this.#rows.delete(id);
    }
  }

  /** The feed told of a change. */
  heard(key: ChangedKey): void {
    if (this.find(key) === undefined) this.#rows.delete(idOf(key));
  }

  /** The feed may have missed something. */
  clear(): void {
    this.#rows.clear();
  }

  /** The row that the change left, if it was written here and nothing newer is known; else it must be read. */
  find(key: ChangedKey): Row | undefined {
    if (key.xid === undefined) return undefined;
    const written = this.#rows.get(idOf(key));
    return written?.xid === key.xid ? written.row : undefined;
  }
}

function idOf({ type, mesh, name }: ChangedKey): string {
  return JSON.stringify([type, mesh, name]);
}
