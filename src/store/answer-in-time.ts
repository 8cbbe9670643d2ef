// The store for callers that need an answer soon. A call that takes too long fails. Its statement in the database continues.
import { within, type Clock } from '../base/clock.ts';
import { MeridianError } from '../base/errors.ts';
import type { ResourceStore } from './resource-store.ts';
import { MAY_BE_STORED } from './store-health.ts';

/** Longer than the limit of one statement, so that a statement timeout is reported as such. */
export const ANSWER_LIMIT_MS = 9_000;

/**
 * The store with time limits. Reads and writes reject with `unavailable` after `limitMs` milliseconds. `changes`, `lead` and
 * `close` have no limit.
 */
export function answerInTime(store: ResourceStore, clock: Clock, limitMs = ANSWER_LIMIT_MS): ResourceStore {
  const text = `the database does not answer within ${String(limitMs / 1_000)} s`;
  const late = (): Error => new MeridianError('unavailable', text);
  const lateWrite = (): Error => new MeridianError('unavailable', `${text}; ${MAY_BE_STORED}`);
  const read = <T>(result: Promise<T>): Promise<T> => within(clock, limitMs, result, late);
  const write = <T>(result: Promise<T>): Promise<T> => within(clock, limitMs, result, lateWrite);
  return {
    get: (key) => read(store.get(key)),
    getMeta: (key) => read(store.getMeta(key)),
    getMany: (keys) => read(store.getMany(keys)),
    list: (query) => read(store.list(query)),
    listPage: (query) => read(store.listPage(query)),
    snapshot: () => read(store.snapshot()),
    listMeta: (query) => read(store.listMeta(query)),
    digest: (types) => read(store.digest(types)),
    count: (query) => read(store.count(query)),
    countAll: () => read(store.countAll()),
    write: (one) => write(store.write(one)),
    writeBatch: (writes, fence) => write(store.writeBatch(writes, fence)),
    writeAll: (writes) => write(store.writeAll(writes)),
    deletedMeshes: (names) => read(store.deletedMeshes(names)),
    epochs: (peers) => read(store.epochs(peers)),
    acquireFencingToken: (peer) => write(store.acquireFencingToken(peer)),
    versions: (query) => read(store.versions(query)),
    versionNumbers: (key) => read(store.versionNumbers(key)),
    settledVersion: () => read(store.settledVersion()),
    versionsAfter: (query) => read(store.versionsAfter(query)),
    countVersions: () => read(store.countVersions()),
    trimVersions: (after, most) => write(store.trimVersions(after, most)),
    pruneVersions: (bounds, progress) => write(store.pruneVersions(bounds, progress)),
    mark: (id) => read(store.mark(id)),
    ping: () => read(store.ping()),
    changes: (signal, types) => store.changes(signal, types),
    lead: (name, task, signal) => store.lead(name, task, signal),
    close: () => store.close(),
  };
}
