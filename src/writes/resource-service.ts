// The writes of the REST API: the checks in Kuma's order, then one write to the store (rest-api 2.4).
// Invariant: nothing is stored unless every check has passed; without If-Match the last writer wins (D33).
import type { FairQueue } from '../base/fair-queue.ts';
import type { Steps } from '../base/steps.ts';
import { compareText } from '../base/compare-text.ts';
import { isDeepStrictEqual } from 'node:util';
import { KeyedMutex } from '../base/keyed-mutex.ts';
import { typeOf, type TypeInfo } from '../resource/type-registry.ts';
import { describeKey, type JsonObject, type Resource, type ResourceKey } from '../resource/types.ts';
import type { Author, ResourceStore, Write, WriteOutcome } from '../store/resource-store.ts';
import { LARGE_DOCUMENT, type CheckOffThread } from './off-thread-checker.ts';
import { ApiError, missingResource } from '../http/error-body.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { requireUsableSecrets, type AuthorizeUse } from './named-secrets.ts';
import type { Answer } from '../answers/answers.ts';
import { diffSteps } from '../document/json-diff.ts';
import { isShown } from '../document/shown-rows.ts';
import { toUniversal } from '../document/universal-form.ts';
import { draftOf, hasComputed, refuseAll, unreadWrite, type ContentWrite, type Draft, type WriteRules } from './write-checks.ts';
import {
  conflict,
  isSquatter,
  planWrite,
  requireMatch,
  requireOwn,
  resultOf,
  type Precondition,
  type StoredRow,
} from './write-plan.ts';
import type { CallerWork } from '../http/caller-work.ts';
import { isOnline } from '../resource/online-status.ts';

/** The number of attempts at one write while others write the same row. */
export const ATTEMPTS = 5;
const NO_DELETE = 'Could not delete a resource';

export type ServiceOptions = {
  readonly store: ResourceStore;
  readonly rules: WriteRules;
  readonly readOnly: boolean;
  /** The value of `store.unsafeDelete`: Meshes with Dataplanes and zones that are online can be deleted. */
  readonly unsafeDelete: boolean;
  /** The queue of the work whose cost a caller decides. */
  readonly queue: FairQueue;
  /** Checks a large document beside the control plane. */
  readonly checkOffThread: CheckOffThread;
  /** The rows that are written in one transaction with a new Mesh. */
  readonly meshDefaults: (mesh: Pick<Resource, 'name' | 'spec'>) => Promise<Write[]>;
};

type At = { readonly mesh: string; readonly name: string };

export type WriteCall = {
  readonly precondition: Precondition;
  /** Checks the right of the caller. It is called before anything else is read or checked (decision 30). @throws ApiError 403 */
  readonly authorize: (info: TypeInfo, at: At) => void;
  readonly authorizeUse: AuthorizeUse;
  /** The author in the history of the resource. */
  readonly by: Author;
  readonly work: () => CallerWork;
};

export type PutResult = {
  readonly key: ResourceKey;
  readonly result: 'created' | 'updated' | 'unchanged';
  readonly version: number;
  /** The time is 0 for a dry run that creates. */
  readonly creationTime: Date;
  readonly warnings: readonly string[];
};
export type DryRun = PutResult & { readonly diff: readonly Answer<'Change'>[]; readonly resource: JsonObject };

/** No Mesh owns rows of these types: `store.unsafeDelete` leaves them behind. */
const STAYS: ReadonlySet<string> = new Set(['Dataplane', 'DataplaneInsight']);

export class ResourceService {
  readonly #options: ServiceOptions;
  readonly #inTurn = new KeyedMutex();

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  /** @throws ApiError 404 */
  async get(info: TypeInfo, mesh: string, name: string, title = 'Could not retrieve a resource'): Promise<Resource> {
    const row = await this.#options.store.get({ type: info.name, mesh, name });
    if (row === undefined || !isShown(row)) {
      throw missingResource({ type: info.name, mesh, name }, title);
    }
    return row;
  }

  /** Creates or replaces. @throws ApiError that names each field at fault; then nothing has changed */
  async put(info: TypeInfo, at: At, text: string, call: WriteCall): Promise<PutResult> {
    const draft = await this.#check(info, at, text, call);
    await requireUsableSecrets([{ draft, place: '' }], this.#options.store, call.authorizeUse);
    const unread = call.precondition === null ? unreadWrite(draft) : null;
    const done = unread === null ? null : putResult(draft, await this.#options.store.write({ ...unread, by: call.by }));
    // Concurrent writes of this process would conflict with a write that reads first, and it would have to start again.
    return done ?? (await this.#inTurn.run(describeKey(draft.key), () => this.#putByReading(draft, call)));
  }

  async #putByReading(draft: Draft, call: WriteCall): Promise<PutResult> {
    const { store, rules } = this.#options;
    const needsAll = hasComputed(draft.info) || call.precondition !== null;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const stored = await this.#find<StoredRow>(draft, (key) => (needsAll ? store.get(key) : store.getMeta(key)));
      requireMatch(draft.key, stored, call.precondition);
      const write = { ...planWrite(draft, stored, rules), by: call.by };
      const outcome = write.op === 'create' ? await this.#create(write) : await store.write(write);
      if (outcome.result === 'rejected') refuseAll([{ field: 'name', reason: outcome.message }]);
      const put = putResult(draft, outcome);
      if (put !== null) return put;
    }
    throw conflict(draft.key, 'it is being written by others; try again');
  }

  /** The result and the difference that `put` would make; stores nothing. @throws ApiError as `put` does */
  async dryRun(info: TypeInfo, at: At, text: string, call: WriteCall): Promise<DryRun> {
    const draft = await this.#check(info, at, text, call);
    await requireUsableSecrets([{ draft, place: '' }], this.#options.store, call.authorizeUse);
    const stored = await this.#find(draft, (key) => this.#options.store.get(key));
    requireMatch(draft.key, stored, call.precondition);
    const { caller, left } = call.work();
    const describing = describeWrite(draft, planWrite(draft, stored, this.#options.rules), stored);
    return await this.#options.queue.run(caller, describing, left);
  }

  /**
   * The rows that go with a deletion, by type; nothing is deleted. Only a Mesh takes others along.
   * @throws ApiError as `delete` does
   */
  async planDelete(info: TypeInfo, mesh: string, name: string, call: WriteCall): Promise<{ type: string; total: number }[]> {
    const key = { type: info.name, mesh, name };
    call.authorize(info, key);
    if (!(await this.#isDeletable(info, key))) this.requireWritable(info);
    await this.requireMesh(info, mesh, '');
    const stored = await this.get(info, mesh, name, NO_DELETE);
    requireOwn(info, stored, 'delete', this.#options.rules);
    requireMatch(key, stored, call.precondition);
    await this.#requireUnused(info, name);
    if (info.name !== 'Mesh') return [];
    await this.#secretsOf(name, call);
    const counts = await this.#options.store.countAll();
    const taken = counts.filter((one) => one.mesh === name && one.total > 0 && !STAYS.has(one.type));
    return taken.map(({ type, total }) => ({ type, total })).sort((a, b) => compareText(a.type, b.type));
  }

  /** @throws ApiError: 403, 404, 405, 409, 400 if another resource still needs it */
  async delete(info: TypeInfo, mesh: string, name: string, call: WriteCall): Promise<{ key: ResourceKey; version: number }> {
    const { rules } = this.#options;
    const key = { type: info.name, mesh, name };
    call.authorize(info, key);
    if (!(await this.#isDeletable(info, key))) this.requireWritable(info);
    await this.requireMesh(info, mesh, '');
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const stored = await this.get(info, mesh, name, NO_DELETE);
      requireOwn(info, stored, 'delete', rules);
      requireMatch(key, stored, call.precondition);
      await this.#requireUnused(info, name);
      const expected = call.precondition === null ? {} : { expectVersion: stored.version, expectCreation: stored.creationTime };
      const secrets = info.name === 'Mesh' ? await this.#secretsOf(name, call) : [];
      const outcome = await this.#delete({ op: 'delete', key, by: call.by, ...expected }, secrets);
      if (outcome.result === 'deleted') return { key, version: outcome.version };
      if (outcome.result === 'missing') throw new ApiError('not_found', NO_DELETE, `Not found: ${describeKey(key)}`);
    }
    throw conflict(key, 'it is being written by others; try again');
  }

  /**
   * The deletions of the secrets of a mesh, which its row does not own.
   * @throws ApiError 403 if the mesh has secrets, its signing key included, and the caller may not write them
   */
  async #secretsOf(mesh: string, call: WriteCall): Promise<Write[]> {
    const secrets = await this.#options.store.list({ type: 'Secret', mesh });
    if (secrets.length > 0) call.authorize(typeOf('Secret'), { mesh, name: '' });
    const own = secrets.filter(({ owner }) => owner === null);
    return own.map(({ type, name }) => ({ op: 'delete', key: { type, mesh, name }, by: call.by }));
  }

  /** Deletes a row together with others: all of them or none. */
  async #delete(write: Write, others: readonly Write[]): Promise<WriteOutcome> {
    const { store } = this.#options;
    if (others.length === 0) return await store.write(write);
    const [outcome, ...rest] = await store.writeAll([write, ...others]);
    return outcome !== undefined && rest.every(({ result }) => result === 'deleted') ? outcome : { result: 'conflict' };
  }

  /** Global may delete rows of types that only zones write if no zone may use their name. */
  async #isDeletable(info: TypeInfo, key: ResourceKey): Promise<boolean> {
    const { store, rules, readOnly } = this.#options;
    if (readOnly || info.writers !== 'zone' || rules.writer.mode !== 'global') return false;
    const stored = await store.getMeta(key);
    return stored !== undefined && isSquatter(info, stored, rules);
  }

  /** @throws ApiError 405 if this control plane does not write the type (rest-api 2.1) */
  requireWritable(info: TypeInfo): void {
    const { rules, readOnly } = this.#options;
    const { mode, federated } = rules.writer;
    const allowed =
      info.writers === 'both' || info.writers === mode || (info.writers !== 'none' && mode === 'zone' && !federated);
    if (allowed && !readOnly) return;
    const where = readOnly
      ? 'this API is read-only'
      : info.writers === 'none'
        ? 'control planes write it themselves'
        : `write it on a ${info.writers}`;
    throw new ApiError('read_only', 'Method not allowed', `${info.name} cannot be written here: ${where}`);
  }

  /**
   * @param advice the remedy, appended to the error
   * @throws ApiError 404 when the mesh of a mesh-scoped type does not exist
   */
  async requireMesh(info: TypeInfo, mesh: string, advice = '; create it first'): Promise<void> {
    if (info.scope === 'Global') return;
    if ((await this.#options.store.getMeta({ type: 'Mesh', mesh: '', name: mesh })) !== undefined) return;
    const reason = `Not found: mesh ${JSON.stringify(mesh)} does not exist${advice}`;
    throw new ApiError('not_found', 'Failed to retrieve Mesh', reason, [], { missing: { type: 'Mesh', name: mesh } });
  }

  /** Checks the right to write, and then all that needs no row. A missing mesh is reported before faults of the body. */
  async #check(info: TypeInfo, at: At, text: string, call: WriteCall): Promise<Draft> {
    call.authorize(info, at);
    try {
      if (text.length > LARGE_DOCUMENT)
        return await this.#options.checkOffThread(
          info,
          { at: { mesh: at.mesh, name: at.name }, text, strict: false },
          call.work(),
        );
      return draftOf(info, at, parseJsonBody(text), this.#options.rules, { strict: false });
    } catch (failure) {
      await this.requireMesh(info, at.mesh);
      await this.#requireNoCopy(info, at);
      throw failure;
    }
  }

  /** Refuses the write of a copy, before other faults: it cannot be written here whatever is corrected. @throws ApiError 400 */
  async #requireNoCopy(info: TypeInfo, at: At): Promise<void> {
    const stored = await this.#options.store.getMeta({ type: info.name, ...at });
    if (stored !== undefined) requireOwn(info, stored, 'update', this.#options.rules);
  }

  /** The stored row. It is read with its mesh in one round trip. @throws ApiError 404 without the mesh */
  async #find<Row>({ info, key }: Draft, read: (key: ResourceKey) => Promise<Row | undefined>): Promise<Row | undefined> {
    const [stored] = await Promise.all([read(key), this.requireMesh(info, key.mesh)]);
    return stored;
  }

  /** Creates a resource, and a Mesh together with its defaults. */
  async #create(write: ContentWrite): Promise<WriteOutcome> {
    const { store, meshDefaults } = this.#options;
    if (write.key.type !== 'Mesh') return await store.write(write);
    const [outcome] = await store.writeBatch([write, ...(await meshDefaults({ name: write.key.name, spec: write.spec }))]);
    return outcome ?? { result: 'missing' };
  }

  async #requireUnused(info: TypeInfo, name: string): Promise<void> {
    const { store, unsafeDelete } = this.#options;
    if (unsafeDelete) return;
    if (info.name === 'Mesh' && (await store.count({ type: 'Dataplane', mesh: name })) > 0)
      refuseAll([{ field: 'name', reason: 'the mesh still has Dataplanes; delete them first' }], NO_DELETE);
    if (info.name !== 'Zone') return;
    const insight = await store.get({ type: 'ZoneInsight', mesh: '', name });
    if (insight !== undefined && isOnline(insight.spec))
      refuseAll([{ field: 'name', reason: 'the zone is online; stop it first' }], NO_DELETE);
  }
}

/** Returns null for a failed outcome. */
function putResult({ key, warnings }: Draft, outcome: WriteOutcome): PutResult | null {
  if (outcome.result !== 'created' && outcome.result !== 'updated') return null;
  const { result, version, creationTime } = outcome;
  return { key, result, version, creationTime, warnings };
}

/** Describes a planned write. It is no change if the given labels and spec equal the stored ones: computed labels may be updated later. */
export function* describeWrite(draft: Draft, write: ContentWrite, stored: Resource | undefined): Steps<DryRun> {
  if (stored !== undefined && isDeepStrictEqual([draft.given, write.spec], [stored.labels, stored.spec])) {
    const resource = withoutTimes(toUniversal(draft.info, stored));
    const { version, creationTime } = stored;
    return { key: draft.key, result: 'unchanged', version, creationTime, warnings: draft.warnings, diff: [], resource };
  }
  const row = resultOf(write, stored);
  const resource = withoutTimes(toUniversal(draft.info, row));
  const before = stored === undefined ? null : withoutTimes(toUniversal(draft.info, stored));
  const diff: Answer<'Change'>[] =
    before === null ? [{ op: 'add', path: '', value: resource }] : yield* diffSteps(before, resource);
  const result = before === null ? 'created' : diff.length > 0 ? 'updated' : 'unchanged';
  const version = stored === undefined ? 0 : stored.version + (diff.length > 0 ? 1 : 0);
  return { key: draft.key, result, version, creationTime: row.creationTime, warnings: draft.warnings, diff, resource };
}

function withoutTimes({ creationTime: _created, modificationTime: _modified, ...rest }: JsonObject): JsonObject {
  return rest;
}
