// The interface of a store. Two backends (PostgreSQL through pg, embedded PGlite) pass one contract suite.
import type { JsonObject, Labels, Resource, ResourceKey } from '../resource/types.ts';
import type { HistoryStore } from './history-store.ts';

/** The conditions of a list; all must hold. Rows are sorted by mesh and name (rest-api 2.2). */
export type ListQuery = {
  readonly type: string;
  readonly mesh?: string;
  /** The labels that a row must have, by the GIN index. */
  readonly labels?: Labels;
  /** A substring of the stored name. */
  readonly nameContains?: string;
  /** A key of the status that a row must have. */
  readonly statusKey?: string;
  /** A substring of the spec as its JSON text without spaces. Every row of the type is read for it, in the database. */
  readonly specContains?: string;
  readonly limit?: number;
  readonly offset?: number;
};

/** Selects rows by type, and by labels, prefix of the stored name, or owner where given. */
export type MetaQuery = {
  readonly types: readonly string[];
  readonly labels?: Labels;
  readonly namePrefix?: string;
  readonly owner?: ResourceKey;
};

/** A page of rows, the number of rows without `limit` and `offset`, and the snapshot of both. */
export type ListPage = { readonly rows: readonly Resource[]; readonly total: number; readonly snapshot: string | null };

/** A row without spec and status. */
export type ResourceMeta = Omit<Resource, 'spec' | 'status' | 'creationTime'>;

/**
 * One write. `create` fails if the row exists, `update` and `delete` if it does not; `put` creates or updates. With `expectVersion`
 * an update or delete fails on any other version, and with `expectCreation` on a row that was created in another millisecond. Without
 * `status` the stored status stays. With `ownOnly` a put fails on a foreign row: one with a `syncVersion`, or with labels of another
 * origin or zone than the write. It also fails on a row of another namespace, which is another resource with the same stored name.
 * `syncVersion` left out means that this control plane wrote the row: the column becomes NULL. `status` sets these members of
 * the stored status and leaves all else: its caller needs no spec, which may have many kilobytes. It fails if the row does not exist.
 */
export type Write =
  | (WriteContent & { readonly op: 'create' | 'update' } & Expected)
  | (WriteContent & { readonly op: 'put'; readonly ownOnly?: boolean | undefined })
  | ({ readonly op: 'status'; readonly key: ResourceKey; readonly status: JsonObject; readonly by?: undefined } & Expected)
  | ({ readonly op: 'delete'; readonly key: ResourceKey; readonly by?: Author | undefined } & Expected);

/** A write of a whole row. */
export type RowWrite = Exclude<Write, { readonly op: 'delete' | 'status' }>;

type Expected = { readonly expectVersion?: number | undefined; readonly expectCreation?: Date | undefined };

/** The user of a write. A write with an author is kept in the history of the resource. @property restores the version of a rollback */
export type Author = { readonly user: string; readonly restores?: number | undefined };

type WriteContent = {
  readonly key: ResourceKey;
  readonly labels: Labels;
  readonly spec: JsonObject;
  readonly status?: JsonObject | undefined;
  /** The owner is set on creation, and never changes. */
  readonly owner?: ResourceKey | null | undefined;
  readonly syncVersion?: string | null | undefined;
  /** The author is left out for what a control plane writes itself, and for rows that came by KDS. */
  readonly by?: Author | undefined;
};

export type WriteOutcome =
  | { readonly result: 'created' | 'updated'; readonly version: number; readonly creationTime: Date }
  | { readonly result: 'deleted'; readonly version: number }
  | { readonly result: 'exists' | 'missing' | 'conflict' }
  /** The row violates a constraint of the table, such as a name that is too long or a missing owner. */
  | { readonly result: 'rejected'; readonly message: string };

/**
 * A hint to read rows again. `all` after a (re)connection of the feed, `type` past the size of a notification. `lost` comes when
 * the feed has lost its connection: changes are missed from then on, until the `all` of the next connection. A `mark` says that
 * the feed has reported every change committed before the mark was sent (engine 10).
 */
export type StoreChange =
  | { readonly kind: 'keys'; readonly keys: readonly ResourceKey[] }
  | { readonly kind: 'type'; readonly type: string }
  | { readonly kind: 'all' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'mark'; readonly id: string };

/** Fences a batch: it fails with code `conflict` unless `epoch` is still the newest of `peer` (engine 11). */
export type Fence = { readonly peer: string; readonly epoch: number };

export interface ResourceStore extends HistoryStore {
  get(key: ResourceKey): Promise<Resource | undefined>;
  /** Reads as `get` does, but without the spec. */
  getMeta(key: ResourceKey): Promise<ResourceMeta | undefined>;
  /** The existing rows among `keys`, in no particular order. */
  getMany(keys: readonly ResourceKey[]): Promise<Resource[]>;
  list(query: ListQuery): Promise<Resource[]>;
  /** Lists as `list` does, with the total and the snapshot for a cache. */
  listPage(query: ListQuery): Promise<ListPage>;
  /**
   * Equal texts mean that no transaction committed between the calls. It is null if the database cannot tell, as on a standby.
   */
  snapshot(): Promise<string | null>;
  /** The fields of many rows that a resume and a prune need, in one statement. */
  listMeta(query: MetaQuery): Promise<ResourceMeta[]>;
  /** Equal texts mean that no row of these types was written between the calls. */
  digest(types: readonly string[]): Promise<string>;
  count(query: Omit<ListQuery, 'limit' | 'offset'>): Promise<number>;

  /** The number of rows of each type and mesh, in one statement. */
  countAll(): Promise<{ type: string; mesh: string; total: number }[]>;

  /** Writes one row. Writes that arrive during a transaction share the next one. */
  write(write: Write): Promise<WriteOutcome>;
  /**
   * Writes all in one transaction and few statements. A failed write is reported in its outcome, and the others are stored. A key
   * occurs at most once in `writes`. Deletes run first.
   */
  writeBatch(writes: readonly Write[], fence?: Fence): Promise<WriteOutcome[]>;

  /** Writes as `writeBatch` does. Nothing is stored unless every outcome is a success. */
  writeAll(writes: readonly Write[]): Promise<WriteOutcome[]>;

  /** The meshes among these that were deleted here at some time, without meshes that never existed here. */
  deletedMeshes(names: readonly string[]): Promise<string[]>;

  /**
   * Raises the epoch of `peer`: the fence of the receiver that opens now. Older receivers can no longer commit, and receive a
   * `fenceMark`.
   */
  acquireFencingToken(peer: string): Promise<number>;
  /** The newest epoch of each of these peers, if it has one. */
  epochs(peers: readonly string[]): Promise<Fence[]>;

  /**
   * The new changes by any process. The first item is `all`, when the feed listens. It ends with the signal.
   * @param types the types that the caller follows; without them, all but ZoneInsights and the DataplaneInsights that came by KDS
   */
  changes(signal: AbortSignal, types?: Iterable<string>): AsyncIterable<StoreChange>;

  /** Sends a mark through the feed of every process. A reconnecting feed may lose it, and then reports `all`. */
  mark(id: string): Promise<void>;

  /** Runs `task` while this process alone holds the lock `name`; its signal aborts when the lock is lost. Returns when `signal` aborts. */
  lead(name: string, task: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;

  /** Resolves if the database answers, else throws MeridianError `unavailable`. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
