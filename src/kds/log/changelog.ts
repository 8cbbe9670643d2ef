// One log per type, shared by every stream: rows of the source, filtered and renamed by the rules, encoded once.
// Invariant: a log moves only when the wire form or the visibility of a row has changed (engine 6).
import { systemClock, type Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { completeSpec } from '../../validation/complete-spec.ts';
import { typeOf, type TypeInfo } from '../../resource/type-registry.ts';
import { keyOfNameText, nameText, type Resource, type ResourceKey } from '../../resource/types.ts';
import { isMember, type ZoneProfile } from '../../resource/zone-profile.ts';
import { FeedFollower, type Hints } from '../../store/follow-feed.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { EncodedEntry, WithheldEntry, type Entry } from './entry.ts';
import { isSameVisibility, type Visibility, NO_PEER, visibilityOf, type SendRules } from '../protocol/rules.ts';
import { TypeLog, type Slot, type SlotNames } from './type-log.ts';
import { WaitingRows } from './waiting-rows.ts';
import type { ZoneChange } from '../protocol/zone-access.ts';

/** The time for which a stream waits for the feed, in milliseconds. It covers a restart of the database and a new read of a large table. */
const MAX_LAG_MS = 60_000;

/** The store whose rows go to the peers. */
export type Source = Pick<ResourceStore, 'list' | 'getMany' | 'changes' | 'mark' | 'deletedMeshes'>;

export type ChangelogListener = (type: string) => void;

/** A change of a row that reached the log of its type. */
export type LoggedChange = ResourceKey & {
  /** The position of the change in the log of the type, of this process. */
  readonly position: number;
  /** The version of the row; null when the row was removed. */
  readonly version: number | null;
  /** The time at which the writer stored the version; null when the row was removed. */
  readonly committedAt: Date | null;
  /** It is true when peers remove the resource: its row was removed, or is no longer sent. */
  readonly isRemoval: boolean;
  /** It is true when the log did not have the resource: it was created, or is sent from now on. */
  readonly isNew: boolean;
  readonly wireName: string;
  /** The peers that may see it; for a removal, those that could see the resource before. */
  readonly visibility: Visibility;
};

/** A resource that moved to the end of its log, unchanged: other peers may see it. */
export type LoggedMove = Pick<LoggedChange, 'type' | 'wireName' | 'position'>;

export class Changelog {
  readonly rules: SendRules;
  readonly #source: Source;
  readonly #log: Logger;
  readonly #logs = new Map<string, TypeLog>();
  /** The key of the slot that a row fills, by row key and type. */
  readonly #slotOfRow = new Map<string, Map<string, string>>();
  /** The row that fills a slot, by key of the slot and type; a second row of the same wire name waits (engine 5). */
  readonly #rowOfSlot = new Map<string, Map<string, string>>();
  readonly #waiting = new WaitingRows();
  /** The slots that go to the other zones, by origin zone and mesh; the mesh is `''` for none. */
  readonly #byZone = new Map<string, Map<string, Map<Slot, TypeLog>>>();
  readonly #listeners = new Set<ChangelogListener>();
  readonly #changeListeners = new Set<(change: LoggedChange) => void>();
  readonly #moveListeners = new Set<(move: LoggedMove) => void>();
  #isLoaded = false;
  readonly #ready = Promise.withResolvers<undefined>();
  readonly #follower: FeedFollower;

  constructor(source: Source, rules: SendRules, log: Logger, clock: Clock = systemClock) {
    this.#source = source;
    this.rules = rules;
    this.#log = log;
    const types = rules.types.map(({ name }) => name);
    this.#follower = new FeedFollower({ store: source, types, clock, log, maxLagMs: MAX_LAG_MS });
    for (const name of types) {
      this.#logs.set(name, new TypeLog(name));
      this.#slotOfRow.set(name, new Map());
      this.#rowOfSlot.set(name, new Map());
    }
  }

  /** Settles when every type has been read once. */
  get ready(): Promise<undefined> {
    return this.#ready.promise;
  }

  /**
   * Settles when everything that is committed now, by any replica, is in the logs (engine 10).
   * @throws MeridianError `unavailable` when the store or its feed does not answer
   */
  async caughtUp(): Promise<void> {
    await this.ready;
    await this.#follower.caughtUp();
  }

  /** The log of a type that this side provides. */
  logOf(type: string): TypeLog | undefined {
    return this.#logs.get(type);
  }

  /** The logs of all types. */
  logs(): Iterable<TypeLog> {
    return this.#logs.values();
  }

  /** The row that fills a slot of a log; undefined for a tombstone. */
  rowOf({ type }: TypeLog, { key }: Slot): ResourceKey | undefined {
    const row = this.#rowOfSlot.get(type)?.get(key);
    return row === undefined ? undefined : keyOfNameText(type, row);
  }

  /** The slots that come from a zone and go to the others, by mesh; `''` for none. */
  *slotsFrom(zone: string): Generator<{ readonly mesh: string; readonly slots: ReadonlyMap<Slot, TypeLog> }> {
    for (const [mesh, slots] of this.#byZone.get(zone) ?? []) yield { mesh, slots };
  }

  /** The slot of a row. A row that no peer may see has none, unless it is a Mesh. */
  slotOf(row: ResourceKey): Slot | undefined {
    const key = this.#slotOfRow.get(row.type)?.get(nameText(row));
    return key === undefined ? undefined : this.#logs.get(row.type)?.find(key);
  }

  /** Returns true while there is a Mesh of this name. */
  hasMesh(name: string): boolean {
    return this.#slotOfRow.get('Mesh')?.has(nameText({ mesh: '', name })) === true;
  }

  /** The meshes among these that do not exist here and were never deleted here. Rejects when the store does not answer. */
  async unknownMeshes(names: Iterable<string>): Promise<string[]> {
    const missing = [...names].filter((name) => !this.hasMesh(name));
    if (missing.length === 0) return [];
    // The source may have a Mesh that is not read yet.
    const keys = missing.map((name) => ({ type: 'Mesh', mesh: '', name }));
    const [rows, deleted] = await Promise.all([this.#source.getMany(keys), this.#source.deletedMeshes(missing)]);
    const known = new Set([...rows.map(({ name }) => name), ...deleted]);
    return missing.filter((name) => !known.has(name));
  }

  /** Calls back, synchronously, with each type that gained an entry. Returns a function that stops this. */
  onAppend(listener: ChangelogListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls back, synchronously, with each change after the first read of all types. Returns a function that stops this. */
  onChange(listener: (change: LoggedChange) => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /** Calls back, synchronously, with each move. Returns a function that stops this. */
  onMove(listener: (move: LoggedMove) => void): () => void {
    this.#moveListeners.add(listener);
    return () => this.#moveListeners.delete(listener);
  }

  /** Follows the source until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#follower.run((hints) => this.#apply(hints, signal), signal);
  }

  /**
   * A zone was disabled, enabled, created or deleted, or its membership has changed: every stream decides again about the resources that
   * come from it (engine 8). Those of meshes that the change does not concern stay where they are.
   */
  touchZone({ zone, before, after }: ZoneChange): void {
    const touched = new Set<string>();
    const isSent = (profile: ZoneProfile, mesh: string): boolean => profile.isEnabled && (mesh === '' || isMember(profile, mesh));
    for (const [mesh, slots] of this.#byZone.get(zone) ?? []) {
      if (isSent(before, mesh) === isSent(after, mesh)) continue;
      for (const [slot, log] of slots) {
        log.touch(slot);
        const { wireName, position } = slot;
        for (const listener of this.#moveListeners) listener({ type: log.type, wireName, position });
        touched.add(log.type);
      }
    }
    for (const type of touched) this.#notify(type);
  }

  /** The number of resources of the zone, by mesh, that other zones do not get, because the zone is no member of the mesh. */
  notForwarded(zone: string, profile: Pick<ZoneProfile, 'meshes'>): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    if (profile.meshes === null) return counts;
    for (const [mesh, slots] of this.#byZone.get(zone) ?? [])
      if (mesh !== '' && !isMember(profile, mesh)) counts.set(mesh, slots.size);
    return counts;
  }

  async #apply({ types, keys }: Hints, signal: AbortSignal): Promise<void> {
    for (const type of types) {
      await this.#reload(type);
      // A stop does not wait for the tables that are left.
      if (signal.aborted) return;
    }
    await this.#reread(keys);
    this.#isLoaded = true;
    this.#ready.resolve(undefined);
  }

  async #reload(type: string): Promise<void> {
    const rows = await this.#source.list({ type });
    const gone = new Set(this.#slotOfRow.get(type)?.keys());
    const present = new Set<string>();
    for (const row of rows) {
      const key = nameText(row);
      present.add(key);
      gone.delete(key);
      this.#put(row);
    }
    this.#waiting.prune(type, (key) => present.has(nameText(key)));
    for (const key of gone) this.#remove(type, key, null);
    await this.#admitWaiting();
  }

  async #reread(keys: readonly ResourceKey[]): Promise<void> {
    if (keys.length === 0) return;
    const gone = new Map(keys.map((key) => [`${key.type}/${nameText(key)}`, key]));
    for (const row of await this.#source.getMany(keys)) {
      gone.delete(`${row.type}/${nameText(row)}`);
      this.#put(row);
    }
    for (const key of gone.values()) {
      this.#waiting.leave(key);
      this.#remove(key.type, nameText(key), null);
    }
    await this.#admitWaiting();
  }

  #put(row: Resource): void {
    const made = this.#encode(row, typeOf(row.type));
    const key = nameText(row);
    const wasAt = this.#slotOfRow.get(row.type)?.get(key);
    if (wasAt !== undefined && wasAt !== made?.names.key) this.#remove(row.type, key, row);
    if (made === null) {
      this.#waiting.leave(row);
      return;
    }
    const { names, entry } = made;
    const holder = this.#rowOfSlot.get(row.type)?.get(names.key);
    if (holder !== undefined && holder !== key) {
      if (!this.#waiting.wait(slotId(row.type, names.key), row)) return;
      this.#log.error(
        { type: row.type, name: row.name, mesh: row.mesh, wireName: names.wireName },
        'two resources have one name on the wire; the later one is not sent: rename it',
      );
      return;
    }
    this.#waiting.leave(row);
    const log = this.#mustLog(row.type);
    const current = log.find(names.key)?.entry;
    const before = current?.visibility ?? NO_PEER;
    if (current?.version === entry.version && isSameVisibility(current.visibility, entry.visibility)) return;
    this.#slotOfRow.get(row.type)?.set(key, names.key);
    this.#rowOfSlot.get(row.type)?.set(names.key, key);
    this.#unindex(log.find(names.key));
    const slot = log.append(names, entry);
    this.#index(log, slot);
    this.#announce(row.type, key, slot, { row, before, after: entry.visibility });
    this.#notify(log.type);
  }

  /** @param row null when it no longer exists */
  #remove(type: string, key: string, row: Resource | null): void {
    const slotKey = this.#slotOfRow.get(type)?.get(key);
    if (slotKey === undefined) return;
    this.#slotOfRow.get(type)?.delete(key);
    this.#rowOfSlot.get(type)?.delete(slotKey);
    this.#waiting.free(slotId(type, slotKey));
    const log = this.#mustLog(type);
    const slot = log.find(slotKey);
    if (slot === undefined) return;
    this.#unindex(slot);
    const before = slot.entry?.visibility ?? NO_PEER;
    log.tombstone(slot);
    this.#announce(type, key, slot, { row, before, after: NO_PEER });
    this.#notify(type);
  }

  #announce(
    type: string,
    key: string,
    { position, wireName }: Slot,
    { row, before, after }: { readonly row: Resource | null; readonly before: Visibility; readonly after: Visibility },
  ): void {
    const [wasSent, isSent] = [before.to !== 'none', after.to !== 'none'];
    if (!this.#isLoaded || this.#changeListeners.size === 0 || !(wasSent || isSent)) return;
    const { version, modificationTime } = row ?? { version: null, modificationTime: null };
    const how = { visibility: isSent ? after : before, isRemoval: !isSent, isNew: !wasSent };
    const what = { ...keyOfNameText(type, key), position, wireName, ...how };
    for (const listener of this.#changeListeners) listener({ ...what, version, committedAt: modificationTime });
  }

  /** Reads rows again whose wire name has become free. */
  async #admitWaiting(): Promise<void> {
    const keys = this.#waiting.takeReady();
    if (keys.length === 0) return;
    for (const row of await this.#source.getMany(keys)) this.#put(row);
  }

  #index(log: TypeLog, slot: Slot): void {
    const visibility = slot.entry?.visibility;
    if (visibility?.to !== 'others') return;
    const { zone, mesh = '' } = visibility;
    const byMesh = this.#byZone.get(zone) ?? new Map<string, Map<Slot, TypeLog>>();
    const slots = byMesh.get(mesh) ?? new Map<Slot, TypeLog>();
    this.#byZone.set(zone, byMesh.set(mesh, slots.set(slot, log)));
  }

  #unindex(slot: Slot | undefined): void {
    const visibility = slot?.entry?.visibility;
    if (slot === undefined || visibility?.to !== 'others') return;
    const { zone, mesh = '' } = visibility;
    const byMesh = this.#byZone.get(zone);
    const slots = byMesh?.get(mesh);
    slots?.delete(slot);
    if (slots?.size === 0) byMesh?.delete(mesh);
    if (byMesh?.size === 0) this.#byZone.delete(zone);
  }

  #notify(type: string): void {
    for (const listener of this.#listeners) listener(type);
  }

  #mustLog(type: string): TypeLog {
    const log = this.#logs.get(type);
    if (log === undefined) throw new Error(`type ${type} is not provided here`);
    return log;
  }

  /** Returns null where no peer may ever see the row, unless it is a Mesh, or the row has no wire name. */
  #encode(row: Resource, info: TypeInfo): { names: SlotNames; entry: Entry } | null {
    const { visibility } = visibilityOf(this.rules, row);
    // A Mesh that exists keeps its place in the log, so that a peer loses it as one that is withdrawn, not as one that was deleted.
    if (visibility.to === 'none' && info.name !== 'Mesh') return null;
    try {
      // Rows from other writers than this version of the REST API may lack defaults, which peers expect.
      const mapped = this.rules.map({ ...row, spec: completeSpec(info.name, row.spec) }, info);
      const plainName = info.kds.skipHash ? mapped.name : row.name;
      const wireName = `${mapped.name}.${mapped.mesh}`;
      // Deleting a Mesh also deletes its resources. A recreated Mesh has a new key, so that the peer deletes them too (engine 7).
      const key = info.name === 'Mesh' ? `${wireName}@${row.creationTime.toISOString()}` : wireName;
      return {
        names: { key, wireName, plainName: `${plainName}.${row.mesh}` },
        entry: this.#entryOf(row, () => new EncodedEntry(info, mapped, plainName, visibility), visibility),
      };
    } catch (error) {
      this.#logUnsendable(row, error);
      return null;
    }
  }

  /** A resource that does not fit its message is withheld under its name. Each peer then has a sync problem. */
  #entryOf(row: Resource, encode: () => Entry, visibility: Visibility): Entry {
    try {
      return encode();
    } catch (error) {
      this.#logUnsendable(row, error);
      return new WithheldEntry(visibility, messageOf(error));
    }
  }

  #logUnsendable({ type, name, mesh }: Resource, error: unknown): void {
    this.#log.error({ type, name, mesh, err: messageOf(error) }, 'this resource cannot be sent; correct it');
  }
}

function slotId(type: string, key: string): string {
  return `${type}/${key}`;
}
