// The rows of one peer in this store: those in scope, and the writes of its responses. Invariants: no row out of scope is written; every
// write is behind the fence of the stream, so that of two streams of a peer only the newer one writes.
import { typesByName, type TypeInfo } from '../../resource/type-registry.ts';
import { nameText, type Resource, type ResourceKey } from '../../resource/types.ts';
import type { ResourceMeta, ResourceStore, WriteOutcome } from '../../store/resource-store.ts';
import { planWrites, type SyncWrite, type Work } from './diff-response.ts';
import type { Incoming } from './incoming.ts';
import { nackedResource, type NackedResource } from '../protocol/nack.ts';
import { batchesOf, type Pace } from '../protocol/pace.ts';
import { RowQuota } from '../admission/quotas.ts';
import type { ReceiveRules } from '../protocol/rules.ts';
import type { SyncObserver } from '../protocol/sync-events.ts';

/** The number of attempts to write a row while other writers change it (kds-wire 6.2.5). */
const ATTEMPTS = 4;

/** The outcome of a response: the number of written rows, and the refused resources. */
export type Kept = { readonly written: number; readonly refusals: NackedResource[] };

export type PeerRowsOptions = {
  readonly peer: string;
  readonly rules: ReceiveRules;
  readonly store: Pick<ResourceStore, 'getMany' | 'listMeta' | 'writeBatch' | 'acquireFencingToken'>;
  readonly pace: Pace;
  /** The number of rows that the peer may have; null without a limit. */
  readonly most: number | null;
  /** Whether an equal row with another version is written. */
  readonly exactVersions: boolean;
  readonly observe: SyncObserver;
};

export class PeerRows {
  readonly #options: PeerRowsOptions;
  readonly #types: ReadonlyMap<string, TypeInfo>;
  readonly #quota: RowQuota | null;
  #epoch = 0;

  constructor(options: PeerRowsOptions) {
    const { rules, most } = options;
    this.#options = options;
    this.#types = typesByName(rules.types);
    this.#quota = most === null ? null : new RowQuota(most, async () => (await this.inScope(rules.types)).length);
  }

  /** The epoch of the fence: streams of the peer that opened earlier write no more. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Opens the fence. Call it before the first write. @returns the epoch */
  async open(): Promise<number> {
    const { store, peer } = this.#options;
    return (this.#epoch = await store.acquireFencingToken(peer));
  }

  async inScope(types: readonly TypeInfo[]): Promise<ResourceMeta[]> {
    const { rules, store } = this.#options;
    const rows = await store.listMeta({ types: types.map(({ name }) => name), ...rules.scope });
    return rows.filter((row) => rules.inScope(row, this.#types.get(row.type) as TypeInfo));
  }

  /**
   * The version of every row in scope, by type and `Resource.name`. An unknown version is `''`, so that the peer updates or
   * removes the row.
   */
  async versionsOf(types: readonly TypeInfo[]): Promise<Map<string, Map<string, string>>> {
    const versions = new Map(types.map(({ name }) => [name, new Map<string, string>()]));
    for (const { type, name, mesh, syncVersion } of await this.inScope(types))
      versions.get(type)?.set(`${name}.${mesh}`, syncVersion ?? '');
    return versions;
  }

  /** The rows of these names, also out of scope. */
  async named(info: TypeInfo, names: Iterable<Omit<ResourceKey, 'type'>>): Promise<Resource[]> {
    const { pace, store } = this.#options;
    const keys = [...names].map(({ mesh, name }) => ({ type: info.name, mesh, name }));
    const rows: Resource[] = [];
    for (const part of batchesOf(keys, pace, () => 0)) {
      await pace.beforeBatch(part.length);
      for (const row of await store.getMany(part)) rows.push(row);
    }
    return rows;
  }

  /** Writes the differences. A row that another writer changes meanwhile is read and compared again. */
  async keep(info: TypeInfo, all: Work, refusedBefore: readonly NackedResource[]): Promise<Kept> {
    const { rules, exactVersions, pace } = this.#options;
    const refusals = [...refusedBefore];
    let written = 0;
    let work: Work | null = hasNothing(all) ? null : all;
    for (let attempt = 1; work !== null; attempt += 1) {
      const { incoming } = work;
      const stored = new Map((await this.named(info, incoming.values())).map((row) => [nameText(row), row]));
      const gone = await this.#gone(info, work);
      const plan = await pace.run(planWrites({ info, rules, incoming, stored, gone, exactVersions }));
      const { admitted: writes, refused } = await this.#withinQuota(plan.writes);
      for (const refusal of [...plan.refusals, ...refused]) refusals.push(refusal);
      if (writes.length === 0) break;
      const outcomes = await this.#write(writes, incoming);
      const again: Work & { incoming: Map<string, Incoming>; removed: Map<string, ResourceKey> } = {
        ...{ incoming: new Map(), removed: new Map(), prune: null },
      };
      for (const [index, outcome] of outcomes.entries()) {
        const { op, key } = writes[index] as SyncWrite;
        const resource = work.incoming.get(nameText(key));
        if ('version' in outcome) written += 1;
        else if (outcome.result === 'rejected') refusals.push(nackedResource(info.name, key, outcome.message));
        else if (op === 'delete' && outcome.result === 'missing') continue;
        else if (attempt === ATTEMPTS)
          refusals.push(nackedResource(info.name, key, 'another writer changes this row again and again'));
        else if (op === 'delete') again.removed.set(nameText(key), key);
        else if (resource !== undefined) again.incoming.set(nameText(key), resource);
      }
      work = again.incoming.size > 0 || again.removed.size > 0 ? again : null;
    }
    return { written, refusals };
  }

  /** Deletes these rows as they are. */
  async delete(rows: readonly ResourceMeta[]): Promise<void> {
    const deletions = rows.map(({ type, mesh, name, version }): SyncWrite => {
      return { op: 'delete', key: { type, mesh, name }, expectVersion: version };
    });
    await this.#write(deletions, new Map());
  }

  async #withinQuota(writes: readonly SyncWrite[]): Promise<{ admitted: readonly SyncWrite[]; refused: NackedResource[] }> {
    if (this.#quota === null) return { admitted: writes, refused: [] };
    const result = await this.#quota.admit(writes);
    const { peer, observe } = this.#options;
    const [refused] = result.refused;
    if (refused !== undefined) observe({ kind: 'overQuota', peer, quota: 'rows', reason: refused.reason });
    return result;
  }

  /** Writes in transactions of the size that the pace allows, each behind the fence. Returns the outcomes of all. */
  async #write(writes: readonly SyncWrite[], incoming: Work['incoming']): Promise<WriteOutcome[]> {
    const { peer, store, pace } = this.#options;
    const outcomes: WriteOutcome[] = [];
    const bytesOf = ({ key }: SyncWrite): number => incoming.get(nameText(key))?.bytes ?? 0;
    for (const part of batchesOf(writes, pace, bytesOf)) {
      await pace.beforeBatch(part.length);
      const stored = await store.writeBatch(part, { peer, epoch: this.#epoch });
      this.#quota?.stored(stored);
      for (const outcome of stored) outcomes.push(outcome);
    }
    return outcomes;
  }

  /** The rows that the peer no longer has: those that it removed and, at the end of a full state, those that it did not name. */
  async #gone(info: TypeInfo, { removed, prune }: Work): Promise<ResourceMeta[]> {
    const rows = new Map<string, ResourceMeta>((await this.named(info, removed.values())).map((row) => [nameText(row), row]));
    if (prune === null) return [...rows.values()];
    const { except, heldMeshes } = prune;
    for (const row of await this.inScope([info]))
      if (!except.has(nameText(row)) && !heldMeshes.has(row.mesh)) rows.set(nameText(row), row);
    return [...rows.values()];
  }
}

function hasNothing({ incoming, removed, prune }: Work): boolean {
  return incoming.size === 0 && removed.size === 0 && prune === null;
}
