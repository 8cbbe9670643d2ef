// What the protocol needs of its host: a Source to read and follow, a Sink to write. The roots adapt the store to them,
// so that the protocol is tested without a database.
import type { JsonObject, Labels, Resource, ResourceKey } from '../resource/types.ts';

export type SourceChange =
  | { readonly kind: 'keys'; readonly keys: readonly ResourceKey[] }
  | { readonly kind: 'type'; readonly type: string }
  | { readonly kind: 'all' }
  | { readonly kind: 'mark'; readonly id: string };

export interface Source {
  list(type: string): Promise<Resource[]>;
  /** The rows that exist among `keys`. */
  getMany(keys: readonly ResourceKey[]): Promise<Resource[]>;
  /** Hints about possible changes; the first is `all`. */
  changes(signal: AbortSignal): AsyncIterable<SourceChange>;
  /** Sends a mark through `changes`. Changes that were committed earlier arrive before it. A lost mark is followed by `all`. */
  mark(id: string): Promise<void>;
  /** Those of these meshes that were deleted here at some time. One that was never here is not among them. */
  deletedMeshes(names: readonly string[]): Promise<string[]>;
}

export type SinkWrite =
  | {
      readonly op: 'create' | 'update';
      readonly key: ResourceKey;
      readonly labels: Labels;
      readonly spec: JsonObject;
      /** Left out: the stored status stays. */
      readonly status?: JsonObject | undefined;
      readonly owner?: ResourceKey | null | undefined;
      readonly syncVersion: string;
      readonly expectVersion?: number | undefined;
    }
  | { readonly op: 'delete'; readonly key: ResourceKey; readonly expectVersion?: number | undefined };

export type SinkOutcome =
  | { readonly result: 'created' | 'updated' | 'deleted'; readonly version: number }
  | { readonly result: 'exists' | 'missing' | 'conflict' }
  | { readonly result: 'rejected'; readonly message: string };

/** Rows with these labels, rows whose stored name begins so, and rows of this owner. */
export type Scope = { readonly labels: Labels; readonly namePrefix: string; readonly owner: ResourceKey };

/** A row without what makes it large. */
export type ResourceMeta = Pick<Resource, 'type' | 'mesh' | 'name' | 'version' | 'labels' | 'syncVersion' | 'owner'>;

export interface Sink {
  getMany(keys: readonly ResourceKey[]): Promise<Resource[]>;
  /** The rows of these types: all of them, or those in `scope`. A resume sends their versions, and a full state may prune them. */
  listMeta(types: readonly string[], scope: Scope | null): Promise<ResourceMeta[]>;
  /** One transaction; outcomes in the order of `writes`. Throws on a lost fence or an unreachable store. */
  write(writes: readonly SinkWrite[], epoch: number): Promise<SinkOutcome[]>;
  /** Opens the fence of one receiver of this peer: older epochs can no longer write (engine 11). */
  acquireFencingToken(): Promise<number>;
  /** Calls `lost` once when a newer receiver of this peer opens, in any process. Returns a function that stops the watch. */
  watchEpoch(epoch: number, lost: () => void): () => void;
}
