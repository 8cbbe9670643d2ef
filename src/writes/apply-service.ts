// Stores many documents, all or nothing: every check of a PUT on every document, all violations together, then one transaction.
// Invariant: after a refusal nothing is stored, also after a race.
import { MeridianError } from '../base/errors.ts';
import type { FairQueue } from '../base/fair-queue.ts';
import { oneStep, type Steps } from '../base/steps.ts';
import { MAX_VIOLATIONS, type Violation } from '../base/violations.ts';
import { label } from '../resource/labels.ts';
import { describeKey, type Resource, type ResourceKey } from '../resource/types.ts';
import type { Author, ResourceStore, Write } from '../store/resource-store.ts';
import type { ApplyDocument } from './apply-documents.ts';
import { LARGE_DOCUMENT, type CheckOffThread } from './off-thread-checker.ts';
import { ApiError } from '../http/error-body.ts';
import { requireUsableSecrets, type AuthorizeUse } from './named-secrets.ts';
import { ATTEMPTS, describeWrite, type DryRun, type ResourceService, type ServiceOptions } from './resource-service.ts';
import { draftOf, refuseAll, type ContentWrite, type Draft, type WriteRules } from './write-checks.ts';
import type { CallerWork } from '../http/caller-work.ts';
import { planWrite, requireOwn, resultOf } from './write-plan.ts';

type Options = {
  readonly store: ResourceStore;
  readonly service: ResourceService;
  readonly rules: WriteRules;
  readonly queue: FairQueue;
  readonly checkOffThread: CheckOffThread;
  readonly meshDefaults: ServiceOptions['meshDefaults'];
};

type Call = {
  readonly dryRun: boolean;
  /**
   * Checks the right of the caller. It is called for every document before anything else is checked (decision 30).
   * @throws ApiError 403
   */
  readonly authorize: (document: ApplyDocument) => void;
  readonly authorizeUse: AuthorizeUse;
  /** The author in the history of the resources. */
  readonly by: Author;
  readonly work: CallerWork;
};
/** @property row the row as it is stored, or would be @property before the row as it was; undefined for a new one */
export type AppliedWrite = DryRun & { readonly row: Resource; readonly before: Resource | undefined };
type Planned = { readonly draft: Draft; readonly stored: Resource | undefined; readonly write: ContentWrite };

/** @returns the outcome of each document, with `dryRun` the expected one. @throws ApiError 400 with fields `documents[3].spec…` */
export async function applyAll(documents: readonly ApplyDocument[], options: Options, call: Call): Promise<AppliedWrite[]> {
  for (const document of documents) call.authorize(document);
  await requireMeshes(documents, options);
  const inTurn = <T>(task: () => T): Promise<T> => options.queue.run(call.work.caller, oneStep(task), call.work.left);
  const check = async ({ info, mesh, name, body, size }: ApplyDocument): Promise<Draft> => {
    options.service.requireWritable(info);
    const at = { mesh, name };
    if (size > LARGE_DOCUMENT)
      return await options.checkOffThread(info, { at, text: JSON.stringify(body), strict: true }, call.work);
    return await inTurn(() => draftOf(info, at, body, options.rules, { strict: true }));
  };
  const drafts = await checkEach(documents, check).catch(async (failure: unknown) => {
    const copies = await copiesAmong(documents, options);
    if (copies.size === 0) throw failure;
    return await checkEach(documents, async (document) => {
      const refusal = copies.get(document);
      if (refusal !== undefined) throw refusal;
      return await check(document);
    });
  });
  requireDistinct(documents, drafts);
  const placed = drafts.map((draft, index) => ({ draft, place: documents[index]?.place ?? '' }));
  await requireUsableSecrets(placed, options.store, call.authorizeUse);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const planned = await planAll(documents, drafts, options, inTurn);
    const results = await options.queue.run(call.work.caller, describeAll(planned), call.work.left);
    if (call.dryRun) return results;
    const changed = planned.filter((_, index) => results[index]?.result !== 'unchanged');
    if (changed.length === 0 || (await storeAll(changed, options, call.by))) return results;
  }
  throw new ApiError('conflict', 'Conflict', 'resource conflict: the resources are being written by others; try again');
}

function* describeAll(planned: readonly Planned[]): Steps<AppliedWrite[]> {
  const results: AppliedWrite[] = [];
  for (const { draft, write, stored } of planned) {
    results.push({ ...(yield* describeWrite(draft, write, stored)), row: resultOf(write, stored), before: stored });
    yield;
  }
  return results;
}

/** A mesh must exist, or be one of the documents. */
async function requireMeshes(documents: readonly ApplyDocument[], { service }: Options): Promise<void> {
  const made = new Set(documents.filter(({ info }) => info.name === 'Mesh').map(({ name }) => name));
  const wanted = new Map(documents.filter(({ mesh }) => mesh !== '' && !made.has(mesh)).map(({ mesh, info }) => [mesh, info]));
  await Promise.all([...wanted].map(([mesh, info]) => service.requireMesh(info, mesh)));
}

/** The documents of copies, with their refusals. A copy cannot be written here whatever is corrected, so its refusal replaces its other faults. */
async function copiesAmong(
  documents: readonly ApplyDocument[],
  { store, rules }: Options,
): Promise<ReadonlyMap<ApplyDocument, MeridianError>> {
  const copies = new Map<ApplyDocument, MeridianError>();
  const keyOf = ({ info, mesh, name }: ApplyDocument): ResourceKey => ({ type: info.name, mesh, name });
  const rows = new Map((await store.getMany(documents.map(keyOf))).map((row) => [describeKey(row), row]));
  for (const document of documents) {
    const row = rows.get(describeKey(keyOf(document)));
    try {
      if (row !== undefined) requireOwn(document.info, row, 'update', rules);
    } catch (refusal) {
      if (!(refusal instanceof MeridianError)) throw refusal;
      copies.set(document, refusal);
    }
  }
  return copies;
}

async function planAll(
  documents: readonly ApplyDocument[],
  drafts: readonly Draft[],
  { store, rules }: Options,
  inTurn: <T>(task: () => T) => Promise<T>,
): Promise<Planned[]> {
  const rows = new Map((await store.getMany(drafts.map(({ key }) => key))).map((row) => [describeKey(row), row]));
  const plans = new Map(documents.map((document, index) => [document, drafts[index]]));
  return await checkEach(documents, async (document) => {
    const draft = plans.get(document);
    if (draft === undefined) throw new Error('every document has a draft');
    const stored = rows.get(describeKey(draft.key));
    return await inTurn(() => ({ draft, stored, write: planWrite(draft, stored, rules) }));
  });
}

/** Returns true when all is stored; false when another writer changed a row meanwhile, so that all rows must be read again. */
async function storeAll(planned: readonly Planned[], { store, meshDefaults }: Options, by: Author): Promise<boolean> {
  const writes: Write[] = planned.map(({ write }) => ({ ...write, by }));
  const named = new Set(writes.map(({ key }) => describeKey(key)));
  for (const { write } of planned) {
    if (write.key.type !== 'Mesh' || write.op !== 'create') continue;
    const defaults = await meshDefaults({ name: write.key.name, spec: write.spec });
    const known = new Set((await store.getMany(defaults.map(({ key }) => key))).map(describeKey));
    writes.push(...defaults.filter(({ key }) => !named.has(describeKey(key)) && !known.has(describeKey(key))));
  }
  const outcomes = await store.writeAll(writes);
  const own = outcomes.slice(0, planned.length);
  for (const [index, outcome] of own.entries())
    if (outcome.result === 'rejected') refuseAll([{ field: describe(planned[index]?.draft.key), reason: outcome.message }]);
  return own.every(({ result }) => result === 'created' || result === 'updated');
}

/**
 * Runs a check on one document after the other and throws all violations together, each with the position of its document. It stops
 * when there are as many as an answer lists.
 */
async function checkEach<T>(documents: readonly ApplyDocument[], check: (document: ApplyDocument) => Promise<T>): Promise<T[]> {
  const violations: Violation[] = [];
  const results: T[] = [];
  for (const document of documents) {
    try {
      results.push(await check(document));
    } catch (error) {
      violations.push(...violationsOf(error, document));
      if (violations.length > MAX_VIOLATIONS) break;
    }
  }
  refuseAll(violations);
  return results;
}

/** @throws errors that the document did not cause */
function violationsOf(error: unknown, { place }: ApplyDocument): Violation[] {
  if (!(error instanceof MeridianError) || !['invalid', 'bad_request', 'read_only'].includes(error.code)) throw error;
  const found = error.violations.length > 0 ? error.violations : [{ field: '', reason: error.message }];
  return found.map(({ field, reason }) => ({
    field: field === '' ? place : `${place}${field.startsWith('[') ? '' : '.'}${field}`,
    reason,
  }));
}

/**
 * Refuses two documents for one row, which have no order in a transaction. Names of two namespaces are two rows; two spellings may be
 * one row.
 */
function requireDistinct(documents: readonly ApplyDocument[], drafts: readonly Draft[]): void {
  const first = new Map<string, { place: string; displayName: string | undefined }>();
  refuseAll(
    drafts.flatMap(({ key, labels }, index) => {
      const displayName = labels[label.displayName];
      const place = documents[index]?.place ?? '';
      const before = first.get(describeKey(key));
      if (before === undefined) first.set(describeKey(key), { place, displayName });
      if (before === undefined) return [];
      const isSame = before.displayName === displayName;
      const reason = isSame ? 'is the same resource as' : `has the stored name ${JSON.stringify(key.name)}, as has`;
      return [{ field: place, reason: `${reason} ${before.place}`, related: before.place }];
    }),
  );
}

function describe(key: ResourceKey | undefined): string {
  return key === undefined ? 'documents' : describeKey(key);
}
