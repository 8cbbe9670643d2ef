// One log per type, shared by every stream: rows of the source, filtered and renamed by the rules, encoded once.
// Invariant: a log moves only when what goes on the wire, or who may see it, has changed (engine 6).
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { decodeKumaResource, encodeKumaResource, wireVersion } from '../resource/codec.ts';
import { typeOf, type TypeInfo } from '../resource/type-registry.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import { encodeResourceEntry } from '../wire/kds-messages.ts';
import type { Source, SourceChange } from './ports.ts';
import { audienceOf, type Audience, type SendRules } from './rules.ts';
import { TypeLog, type Entry, type Slot } from './type-log.ts';

export type ChangelogListener = (type: string) => void;

export class Changelog {
  readonly rules: SendRules;
  readonly #source: Source;
  readonly #log: Logger;
  readonly #logs = new Map<string, TypeLog>();
  /** Row key → wire name of the slot it fills, per type. */
  readonly #slotOfRow = new Map<string, Map<string, string>>();
  /** Wire name → the row that fills it, per type; a second row of the same wire name waits (engine 5). */
  readonly #rowOfSlot = new Map<string, Map<string, string>>();
  readonly #waiting = new Map<string, ResourceKey>();
  readonly #byZone = new Map<string, Map<Slot, TypeLog>>();
  readonly #listeners = new Set<ChangelogListener>();
  readonly #ready = Promise.withResolvers<undefined>();

  constructor(source: Source, rules: SendRules, log: Logger) {
    this.#source = source;
    this.rules = rules;
    this.#log = log;
    for (const { name } of rules.types) {
      this.#logs.set(name, new TypeLog(name));
      this.#slotOfRow.set(name, new Map());
      this.#rowOfSlot.set(name, new Map());
    }
  }

  /** Settles when every type has been read once. */
  get ready(): Promise<undefined> {
    return this.#ready.promise;
  }

  /** The log of a type that this side provides. */
  logOf(type: string): TypeLog | undefined {
    return this.#logs.get(type);
  }

  /** Calls back, synchronously, with each type that gained an entry. Returns the way to stop. */
  onAppend(listener: ChangelogListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Follows the source until the signal; a failed read is tried again and the table read anew. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const change of this.#source.changes(signal)) {
          await this.#take(change);
          if (change.kind === 'all') this.#ready.resolve(undefined);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#log.warn({ err: messageOf(error) }, 'cannot read the store; trying again');
        await delay(200 + Math.random() * 800, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** A zone was disabled, enabled, created or deleted: what comes from it is looked at anew by every stream (engine 8). */
  touchZone(zone: string): void {
    const touched = new Set<string>();
    for (const [slot, log] of this.#byZone.get(zone) ?? []) {
      log.touch(slot);
      touched.add(log.type);
    }
    for (const type of touched) this.#notify(type);
  }

  async #take(change: SourceChange): Promise<void> {
    if (change.kind === 'all') for (const type of this.#logs.keys()) await this.#reload(type);
    else if (change.kind === 'type') {
      if (this.#logs.has(change.type)) await this.#reload(change.type);
    } else await this.#reread(change.keys.filter(({ type }) => this.#logs.has(type)));
  }

  async #reload(type: string): Promise<void> {
    const rows = await this.#source.list(type);
    const gone = new Set(this.#slotOfRow.get(type)?.keys());
    for (const row of rows) {
      gone.delete(rowKey(row));
      this.#put(row);
    }
    for (const key of gone) this.#remove(type, key);
    await this.#admitWaiting();
  }

  async #reread(keys: readonly ResourceKey[]): Promise<void> {
    if (keys.length === 0) return;
    const gone = new Map(keys.map((key) => [`${key.type}/${rowKey(key)}`, key]));
    for (const row of await this.#source.getMany(keys)) {
      gone.delete(`${row.type}/${rowKey(row)}`);
      this.#put(row);
    }
    for (const key of gone.values()) this.#remove(key.type, rowKey(key));
    await this.#admitWaiting();
  }

  #put(row: Resource): void {
    const made = this.#encode(row, typeOf(row.type));
    const key = rowKey(row);
    const wasAt = this.#slotOfRow.get(row.type)?.get(key);
    if (made === null || (wasAt !== undefined && wasAt !== made.wireName)) this.#remove(row.type, key);
    if (made === null) return;
    const holder = this.#rowOfSlot.get(row.type)?.get(made.wireName);
    if (holder !== undefined && holder !== key) {
      this.#waiting.set(`${row.type}/${key}`, row);
      this.#log.error(
        { type: row.type, name: row.name, mesh: row.mesh, wireName: made.wireName },
        'two resources have one name on the wire; the later one is not sent: rename it',
      );
      return;
    }
    const log = this.#mustLog(row.type);
    const current = log.find(made.wireName)?.entry;
    if (current?.version === made.entry.version && sameAudience(current.audience, made.entry.audience)) return;
    this.#slotOfRow.get(row.type)?.set(key, made.wireName);
    this.#rowOfSlot.get(row.type)?.set(made.wireName, key);
    this.#append(log, made.wireName, made.plainName, made.entry);
  }

  #remove(type: string, key: string): void {
    this.#waiting.delete(`${type}/${key}`);
    const wireName = this.#slotOfRow.get(type)?.get(key);
    if (wireName === undefined) return;
    this.#slotOfRow.get(type)?.delete(key);
    this.#rowOfSlot.get(type)?.delete(wireName);
    this.#append(this.#mustLog(type), wireName, '', null);
  }

  /** Rows that lost a wire name to another get their chance when that one has gone. */
  async #admitWaiting(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const keys = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const row of await this.#source.getMany(keys)) this.#put(row);
  }

  #append(log: TypeLog, wireName: string, plainName: string, entry: Entry | null): void {
    const before = log.find(wireName);
    if (before?.entry?.audience.to === 'others') this.#byZone.get(before.entry.audience.zone)?.delete(before);
    const slot = log.append(wireName, plainName, entry);
    if (slot !== undefined && entry?.audience.to === 'others') {
      const slots = this.#byZone.get(entry.audience.zone) ?? new Map<Slot, TypeLog>();
      slots.set(slot, log);
      this.#byZone.set(entry.audience.zone, slots);
    }
    this.#notify(log.type);
  }

  #notify(type: string): void {
    for (const listener of this.#listeners) listener(type);
  }

  #mustLog(type: string): TypeLog {
    const log = this.#logs.get(type);
    if (log === undefined) throw new Error(`type ${type} is not provided here`);
    return log;
  }

  /** Null where nobody may ever see the row, or it cannot be written on the wire. */
  #encode(row: Resource, info: TypeInfo): { wireName: string; plainName: string; entry: Entry } | null {
    const { audience } = audienceOf(this.rules, row);
    if (audience.to === 'nobody') return null;
    try {
      const mapped = this.rules.map(row, info);
      const wireName = `${mapped.name}.${mapped.mesh}`;
      const kumaResource = encodeKumaResource(info, mapped);
      const version = wireVersion(kumaResource);
      const plainName = `${info.kds.skipHash ? mapped.name : row.name}.${row.mesh}`;
      const bytes = encodeResourceEntry({ name: wireName, version, kumaResource });
      const plain = once(() => {
        const renamed = encodeKumaResource(info, {
          ...decodeKumaResource(info, kumaResource),
          name: plainName.slice(0, plainName.lastIndexOf('.')),
        });
        const plainVersion = wireVersion(renamed);
        return {
          wireName: plainName,
          version: plainVersion,
          bytes: encodeResourceEntry({ name: plainName, version: plainVersion, kumaResource: renamed }),
        };
      });
      return { wireName, plainName, entry: { audience, version, bytes, plain } };
    } catch (error) {
      this.#log.error(
        { type: row.type, name: row.name, mesh: row.mesh, err: messageOf(error) },
        'this resource cannot be sent; correct it',
      );
      return null;
    }
  }
}

function rowKey({ mesh, name }: { mesh: string; name: string }): string {
  return JSON.stringify([mesh, name]);
}

function sameAudience(a: Audience, b: Audience): boolean {
  return (
    a.to === b.to &&
    (a.to === 'nobody' || b.to === 'nobody' || a.feature === b.feature) &&
    (a.to !== 'others' || b.to !== 'others' || a.zone === b.zone)
  );
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
