// The history of resources: every write by a person that changed the spec or the labels of an own row. Triggers keep it in the transaction
// of the write (migrations/0007_history.sql).
import type { JsonObject, Labels, ResourceKey } from '../resource/types.ts';

/** One version of a resource. */
export type ResourceVersion = ResourceKey & {
  /**
   * The place among all versions of all resources. A transaction gets it before it commits, so that a smaller one may become
   * visible later: see `settledVersion`.
   */
  readonly id: number;
  /** The version of the row. It continues when a deleted resource is created again, while the row starts at 0. */
  readonly version: number;
  readonly rowVersion: number;
  readonly action: 'created' | 'updated' | 'deleted';
  /** The user, or the role of the database; null if it is not known. */
  readonly author: string | null;
  /** `unknown`: a control plane wrote it, or it is older than the history. It was found when the next version replaced it. */
  readonly via: 'api' | 'database' | 'control-plane' | 'unknown';
  /** The version that a rollback restored. */
  readonly restored: number | null;
  readonly time: Date;
  readonly labels: Labels;
  /** It is null after a deletion, and for secrets, whose data is not kept. */
  readonly spec: JsonObject | null;
};

/** The versions of all resources in the order of their ids: those after `after`, up to `upTo`, of these types. */
export type ExportQuery = {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
  readonly types: readonly string[];
};

/** The `id` up to which versions were considered, and the number of removed ones. */
export type Trimmed = { readonly upTo: number; readonly removed: number };

/** @property before selects versions with a smaller number */
export type VersionQuery = { readonly key: ResourceKey; readonly before?: number | undefined; readonly limit: number };

/** The limits of the versions that are kept. The last version of a resource that exists is always kept. */
export type HistoryBounds = {
  /** The number of versions of one resource. */
  readonly versions: number;
  /** Versions that were replaced before this time, and resources that were deleted before it, are removed. */
  readonly replacedBefore: Date;
};

/** The `id` up to which versions were counted, and the one up to which their age was considered. */
export type PruneProgress = { readonly counted: number; readonly aged: number };

export interface HistoryStore {
  /** The versions of a resource, the newest first. */
  versions(query: VersionQuery): Promise<ResourceVersion[]>;
  /** The numbers of the kept versions of a resource, the newest first, at most 1,000. */
  versionNumbers(key: ResourceKey): Promise<number[]>;
  /**
   * The largest `id`; 0 without a version. After the call no version with a smaller one can appear: it waits for the transactions
   * that are writing versions. Rejects with `conflict` when one of them stays open.
   */
  settledVersion(): Promise<number>;
  /** A page of the versions of all resources. A page up to `settledVersion` is complete. */
  versionsAfter(query: ExportQuery): Promise<ResourceVersion[]>;
  /** The number of versions of all resources. Its cost grows with the table. */
  countVersions(): Promise<number>;
  /**
   * Removes the oldest versions, as a step of bounded size: of some versions after this id, at most `most` that were replaced, or whose
   * resource is gone. `upTo` is `after` when nothing is left to consider.
   */
  trimVersions(after: number, most: number): Promise<Trimmed>;
  /**
   * Removes versions beyond the bounds, as a step of bounded size: considers some of the versions that are newer than the progress.
   * Returns the new progress; the same one when nothing is left to consider.
   */
  pruneVersions(bounds: HistoryBounds, progress: PruneProgress): Promise<PruneProgress>;
}
