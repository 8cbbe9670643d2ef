// The state of one stream of names: delta xDS with one type, to which the launcher subscribes as a whole. Pure: tables and answers go in,
// changes come out. Invariants: one change waits for its answer at a time; a launcher that has answered everything has the last table.
import { hash } from 'node:crypto';
import { perObject } from '../base/per-object.ts';
import { nameChanges, type Name, type NameChanges, type NameTable } from '../xds/name-table.ts';
import { encodeName } from '../wire/name-messages.ts';

const VERSION_CHARACTERS = 22;

/** A hash of the content of a name: the same at each control plane of the zone. */
export const nameVersion = perObject((name: Name): string =>
  hash('sha256', encodeName(name), 'base64url').slice(0, VERSION_CHARACTERS),
);

export class NameSession {
  #table: NameTable;
  /** What the launcher has, once it has answered; null before the first change. */
  #sent: NameTable | null = null;
  /** Versions by hostname that it has from before. */
  #held: ReadonlyMap<string, string>;
  #isAwaited = false;

  /** @param held versions by hostname that the launcher has from another stream */
  constructor(table: NameTable, held: ReadonlyMap<string, string>) {
    this.#table = table;
    this.#held = held;
  }

  update(table: NameTable): void {
    this.#table = table;
  }

  /** The last change was answered. */
  answered(): void {
    this.#isAwaited = false;
  }

  /** What to send now; null for nothing. The first is sent also if it is empty: it says that the launcher has everything. */
  take(): NameChanges | null {
    if (this.#isAwaited || this.#sent === this.#table) return null;
    const changes = this.#sent === null ? changesSince(this.#held, this.#table) : nameChanges(this.#sent, this.#table);
    const isFirst = this.#sent === null;
    this.#sent = this.#table;
    this.#held = NO_VERSIONS;
    if (!isFirst && changes.put.length + changes.removed.length === 0) return null;
    this.#isAwaited = true;
    return changes;
  }
}

const NO_VERSIONS: ReadonlyMap<string, string> = new Map();
const NO_TABLE: NameTable = new Map();

function changesSince(held: ReadonlyMap<string, string>, table: NameTable): NameChanges {
  // The same for all launchers that have nothing.
  if (held.size === 0) return nameChanges(NO_TABLE, table);
  return {
    put: [...table.values()].filter((name) => held.get(name.hostname) !== nameVersion(name)),
    removed: [...held.keys()].filter((hostname) => !table.has(hostname)),
  };
}
