// The history of a TinyStore: what the triggers of migrations/0007_history.sql do. Other programs cannot write a TinyStore.
import { isDeepStrictEqual } from 'node:util';
import { label } from '../../src/resource/labels.ts';
import { keyOf, keyText, type Resource, type ResourceKey } from '../../src/resource/types.ts';
import type {
  ExportQuery,
  HistoryBounds,
  HistoryStore,
  PruneProgress,
  ResourceVersion,
  Trimmed,
  VersionQuery,
} from '../../src/store/history-store.ts';
import type { Author } from '../../src/store/resource-store.ts';

const WITHOUT = new Set(['ZoneInsight', 'DataplaneInsight', 'MeshInsight', 'ServiceInsight', 'Config']);
const SECRETS = new Set(['Secret', 'GlobalSecret']);
const MOST_NUMBERS = 1_000;

export class TinyHistory implements HistoryStore {
  #kept: ResourceVersion[] = [];
  #lastId = 0;

  versions({ key, before = Infinity, limit }: VersionQuery): Promise<ResourceVersion[]> {
    const found = this.#of(key).filter(({ version }) => version < before);
    return Promise.resolve(found.toSorted((a, b) => b.version - a.version).slice(0, limit));
  }

  async versionNumbers(key: ResourceKey): Promise<number[]> {
    return (await this.versions({ key, limit: MOST_NUMBERS })).map(({ version }) => version);
  }

  settledVersion(): Promise<number> {
    return Promise.resolve(this.#kept.at(-1)?.id ?? 0);
  }

  versionsAfter({ after, upTo, limit, types }: ExportQuery): Promise<ResourceVersion[]> {
    const isAsked = ({ id, type }: ResourceVersion): boolean => id > after && id <= upTo && types.includes(type);
    return Promise.resolve(this.#kept.filter(isAsked).slice(0, limit));
  }

  countVersions(): Promise<number> {
    return Promise.resolve(this.#kept.length);
  }

  trimVersions(after: number, most: number): Promise<Trimmed> {
    const considered = this.#kept.filter(({ id }) => id > after);
    const isReplaced = (one: ResourceVersion): boolean => one.action === 'deleted' || this.#lastOf(one) !== one;
    const gone = new Set(considered.filter(isReplaced).slice(0, most));
    this.#kept = this.#kept.filter((one) => !gone.has(one));
    return Promise.resolve({ upTo: considered.at(-1)?.id ?? after, removed: gone.size });
  }

  pruneVersions({ versions, replacedBefore }: HistoryBounds, progress: PruneProgress): Promise<PruneProgress> {
    const isOld = ({ time }: ResourceVersion): boolean => time < replacedBefore;
    const young = this.#kept.find((one) => one.id > progress.aged && !isOld(one))?.id ?? this.#lastId + 1;
    this.#kept = this.#kept.filter((one) => {
      const later = this.#of(one).filter(({ version }) => version > one.version);
      const isDone = one.action === 'deleted' && isOld(one);
      return later.length < versions && !isDone && !later.some((next) => next.id < young && isOld(next));
    });
    return Promise.resolve({ counted: this.#lastId, aged: Math.max(progress.aged, young - 1) });
  }

  /** The state of now, to return to it. */
  mark(): () => void {
    const kept = [...this.#kept];
    return () => void (this.#kept = kept);
  }

  created(row: Resource, by: Author | undefined): void {
    if (by !== undefined) this.#keep(row, 'created', by);
  }

  updated(before: Resource, after: Resource, by: Author | undefined): void {
    if (by === undefined || before.syncVersion !== null) return;
    if (isDeepStrictEqual([before.spec, before.labels], [after.spec, after.labels])) return;
    this.#keepUnknown(before);
    this.#keep(after, 'updated', by);
  }

  /** @param with the author of the deletion of its owner */
  deleted(row: Resource, by: Author | undefined, ofOwner: Author | undefined): void {
    const last = this.#lastOf(row);
    const isDerived = row.type === 'Workload' || row.labels[label.managedBy] !== undefined;
    if (row.syncVersion !== null || WITHOUT.has(row.type)) return;
    if (by === undefined && (last?.action ?? 'deleted') === 'deleted' && (ofOwner === undefined || isDerived)) return;
    this.#keepUnknown(row);
    this.#keep(row, 'deleted', by ?? ofOwner);
  }

  #keepUnknown(row: Resource): void {
    const last = this.#lastOf(row);
    const isLast = last !== undefined && last.action !== 'deleted';
    if (isLast && isDeepStrictEqual([last.spec, last.labels], [specOf(row), row.labels])) return;
    this.#push(row, {
      action: row.version === 0 ? 'created' : 'updated',
      author: null,
      via: 'unknown',
      time: row.modificationTime,
    });
  }

  #keep(row: Resource, action: ResourceVersion['action'], by: Author | undefined): void {
    const via = by === undefined ? 'control-plane' : 'api';
    this.#push(row, { action, author: by?.user ?? null, via, restored: by?.restores ?? null });
  }

  #push(row: Resource, entry: Partial<ResourceVersion> & Pick<ResourceVersion, 'action' | 'author' | 'via'>): void {
    if (row.syncVersion !== null || WITHOUT.has(row.type)) return;
    const last = this.#lastOf(row)?.version ?? -1;
    this.#lastId += 1;
    this.#kept.push({
      ...keyOf(row),
      id: this.#lastId,
      version: entry.action === 'deleted' ? Math.max(row.version, last) + 1 : Math.max(row.version, last + 1),
      rowVersion: row.version,
      restored: null,
      time: row.modificationTime,
      labels: row.labels,
      spec: entry.action === 'deleted' ? null : specOf(row),
      ...entry,
    });
  }

  #of(key: ResourceKey): ResourceVersion[] {
    return this.#kept.filter((one) => keyText(one) === keyText(key));
  }

  #lastOf(key: ResourceKey): ResourceVersion | undefined {
    return this.#of(key)
      .toSorted((a, b) => a.version - b.version)
      .at(-1);
  }
}

function specOf({ type, spec }: Resource): Resource['spec'] | null {
  return SECRETS.has(type) ? null : spec;
}
