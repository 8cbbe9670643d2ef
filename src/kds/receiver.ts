// The xDS client end of one stream: subscribes, stores each response in one transaction, answers ACK or NACK.
// Invariants: what a peer may write is decided by the rules, never by its payload; good resources of a response are
// stored although others are refused; nothing is acknowledged before it is committed.
import { isDeepStrictEqual } from 'node:util';
import { messageOf, type Violation } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { decodeKumaResource, wireVersion, type WireResource } from '../resource/codec.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import { encodeDeltaRequest, type DeltaResponse } from '../wire/kds-messages.ts';
import { nodeMetadata, type OwnNode } from './node.ts';
import type { SyncObserver } from './observer.ts';
import type { Sink, SinkWrite } from './ports.ts';
import { describeRefusals, writeRefusals, type Refusal } from './refusal.ts';
import type { ReceiveRules } from './rules.ts';

/** Conflicts with other writers are re-read and tried again this often (kds-wire 6.2.5). */
const ATTEMPTS = 4;

export type ReceiverOptions = {
  /** Zone name: `node.id` in both directions. */
  readonly zone: string;
  readonly peer: string;
  readonly streamId: string;
  readonly rules: ReceiveRules;
  readonly sink: Sink;
  readonly node: OwnNode;
  /** The peer is Meridian: send versions, take differences, prune nothing (decisions D29). */
  readonly resume: boolean;
  readonly maxMessageBytes: number;
  readonly validate: (
    info: TypeInfo,
    resource: { name: string; mesh: string; labels: WireResource['labels']; spec: WireResource['spec'] },
  ) => readonly Violation[];
  readonly send: (message: Buffer) => void;
  readonly observe: SyncObserver;
  readonly log: Logger;
  readonly now: () => number;
};

type Incoming = WireResource & { readonly version: string };

export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #types: ReadonlyMap<string, TypeInfo>;
  /** Types whose next response is the full state: what it lacks is pruned. */
  readonly #fullNext = new Set<string>();
  #epoch = 0;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#types = new Map(options.rules.types.map((info) => [info.name, info]));
  }

  /** Opens the fence and sends one request per type, without waiting (kds-wire 2.2). */
  async start(): Promise<void> {
    const { sink, send, zone, node, resume, maxMessageBytes } = this.#options;
    this.#epoch = await sink.raiseEpoch();
    for (const info of this.#types.values()) {
      const versions = resume ? await this.#versionsOf(info) : null;
      const fits = versions !== null && sizeOf(versions) <= maxMessageBytes / 2;
      if (!fits) this.#fullNext.add(info.name);
      send(
        encodeDeltaRequest({
          node: { id: zone, metadata: nodeMetadata(node, fits) },
          typeUrl: info.name,
          subscribe: ['*'],
          unsubscribe: [],
          initialResourceVersions: fits ? versions : new Map(),
          responseNonce: '',
          errorDetail: null,
        }),
      );
    }
  }

  /**
   * Stores one response and answers it.
   * @throws when the store cannot be reached, the fence is lost, or the type is unknown: the stream must end
   */
  async handle(response: DeltaResponse): Promise<void> {
    const info = this.#types.get(response.typeUrl);
    if (info === undefined) throw new Error(`invalid resource type ${JSON.stringify(response.typeUrl)}`);
    const { zone, peer, streamId, send, observe, log, now } = this.#options;
    const began = now();
    const refusals: Refusal[] = [];
    const incoming = this.#decode(info, response, refusals);
    const full = this.#fullNext.delete(info.name);
    const written = await this.#store(info, incoming, response.removedResources, full, refusals);
    if (refusals.length > 0)
      log.warn({ type: info.name, refused: refusals.slice(0, 10), of: refusals.length }, 'refused resources of the peer');
    send(
      encodeDeltaRequest({
        node: { id: zone },
        typeUrl: info.name,
        subscribe: refusals.length > 0 ? ['*'] : [],
        unsubscribe: [],
        initialResourceVersions: new Map(),
        responseNonce: response.nonce,
        errorDetail:
          refusals.length > 0 ? { code: 0, message: describeRefusals(refusals), details: writeRefusals(refusals) } : null,
      }),
    );
    observe({
      kind: 'received',
      peer,
      streamId,
      type: info.name,
      written,
      refused: refusals.length,
      seconds: (now() - began) / 1000,
    });
  }

  /** `Resource.name` → version of every row in scope; `''` where it is unknown, so that it is updated or removed. */
  async #versionsOf(info: TypeInfo): Promise<Map<string, string>> {
    const rows = await this.#rowsInScope(info);
    return new Map(rows.map((row) => [`${row.name}.${row.mesh}`, row.syncVersion ?? '']));
  }

  async #rowsInScope(info: TypeInfo): Promise<Resource[]> {
    const { rules, sink } = this.#options;
    const lists =
      rules.scope.length === 0
        ? [await sink.list(info.name)]
        : await Promise.all(rules.scope.map((query) => sink.list(info.name, query)));
    const rows = new Map(lists.flat().map((row) => [keyText(row), row]));
    return [...rows.values()].filter((row) => rules.inScope(row, info));
  }

  /** Resources that can be read and are valid and in scope; the others become refusals or, out of scope, nothing. */
  #decode(info: TypeInfo, response: DeltaResponse, refusals: Refusal[]): Map<string, Incoming> {
    const { rules, validate } = this.#options;
    const incoming = new Map<string, Incoming>();
    for (const { name: wireName, version, resource: bytes } of response.resources) {
      const split = splitWireName(wireName);
      try {
        const resource = rules.rewrite(decodeKumaResource(info, bytes), info);
        if (!rules.inScope(resource, info)) continue;
        const violations = validate(info, resource);
        if (violations.length > 0) {
          refusals.push({
            type: info.name,
            ...split,
            reason: violations.map(({ field, reason }) => `${field}: ${reason}`).join('; '),
          });
        } else incoming.set(keyText(resource), { ...resource, version: version === '' ? wireVersion(bytes) : version });
      } catch (error) {
        refusals.push({ type: info.name, ...split, reason: messageOf(error) });
      }
    }
    return incoming;
  }

  async #store(
    info: TypeInfo,
    incoming: ReadonlyMap<string, Incoming>,
    removed: readonly string[],
    full: boolean,
    refusals: Refusal[],
  ): Promise<number> {
    const refusedBefore = new Set(refusals.map(keyText));
    let written = 0;
    let open: ReadonlyMap<string, Incoming> = incoming;
    let gone: readonly string[] = removed;
    for (let attempt = 1; open.size > 0 || gone.length > 0 || full; attempt += 1) {
      const stored = await this.#stored(info, open, gone, full && attempt === 1);
      const writes = this.#plan(info, open, gone, stored, full && attempt === 1, refusedBefore, refusals);
      if (writes.length === 0) break;
      const outcomes = await this.#options.sink.write(writes, this.#epoch);
      const again = new Map<string, Incoming>();
      const goneAgain: string[] = [];
      for (const [index, { result, ...rest }] of outcomes.entries()) {
        const write = writes[index];
        if (write === undefined) continue;
        const text = keyText(write.key);
        const resource = incoming.get(text);
        if (result === 'created' || result === 'updated' || result === 'deleted') written += 1;
        else if (result === 'rejected')
          refusals.push(refusalOf(info, write.key, 'message' in rest ? rest.message : 'the store refused the row'));
        else if (attempt < ATTEMPTS) {
          if (resource !== undefined && write.op !== 'delete') again.set(text, resource);
          else if (result !== 'missing') goneAgain.push(`${write.key.name}.${write.key.mesh}`);
        } else refusals.push(refusalOf(info, write.key, 'another writer changes this row again and again'));
      }
      open = again;
      gone = goneAgain;
      if (open.size === 0 && gone.length === 0) break;
    }
    return written;
  }

  /** The stored rows that matter: those named, or, for a full state, all in scope and those named. */
  async #stored(
    info: TypeInfo,
    incoming: ReadonlyMap<string, Incoming>,
    removed: readonly string[],
    full: boolean,
  ): Promise<Map<string, Resource>> {
    const keys: ResourceKey[] = [...incoming.values()].map(({ name, mesh }) => ({ type: info.name, mesh, name }));
    for (const wireName of removed) keys.push({ type: info.name, ...splitWireName(wireName) });
    const rows = keys.length === 0 ? [] : await this.#options.sink.getMany(uniqueKeys(keys));
    if (full) rows.push(...(await this.#rowsInScope(info)));
    return new Map(rows.map((row) => [keyText(row), row]));
  }

  #plan(
    info: TypeInfo,
    incoming: ReadonlyMap<string, Incoming>,
    removed: readonly string[],
    stored: ReadonlyMap<string, Resource>,
    full: boolean,
    refused: ReadonlySet<string>,
    refusals: Refusal[],
  ): SinkWrite[] {
    const { rules } = this.#options;
    const writes: SinkWrite[] = [];
    for (const [text, resource] of incoming) {
      const { name, mesh, labels, spec, status, version } = resource;
      const key = { type: info.name, mesh, name };
      const row = stored.get(text);
      const content = { key, labels, spec, syncVersion: version, ...(rules.status === 'take' && { status: status ?? {} }) };
      if (row === undefined) writes.push({ op: 'create', ...content, owner: rules.ownerOnCreate });
      else if (!rules.inScope(row, info)) refusals.push(refusalOf(info, key, 'resource already exists'));
      else if (!this.#equal(row, resource)) writes.push({ op: 'update', ...content, expectVersion: row.version });
    }
    const named = new Set(removed.map((wireName) => keyText(splitWireName(wireName))));
    for (const [text, row] of stored) {
      const isGone = named.has(text) || (full && !refused.has(text));
      if (isGone && !incoming.has(text) && rules.inScope(row, info)) {
        writes.push({ op: 'delete', key: { type: info.name, mesh: row.mesh, name: row.name }, expectVersion: row.version });
      }
    }
    return writes;
  }

  /** Equal versions mean equal content: a trigger clears the version of a row that somebody edits (decisions D29). */
  #equal(row: Resource, { status, version }: Incoming): boolean {
    return row.syncVersion === version && (this.#options.rules.status === 'keep' || isDeepStrictEqual(row.status, status ?? {}));
  }
}

/** `<name>.<mesh>`, split at the last dot; without a dot there is no mesh (kds-wire 2.3). */
export function splitWireName(wireName: string): { name: string; mesh: string } {
  const dot = wireName.lastIndexOf('.');
  return dot < 0 ? { name: wireName, mesh: '' } : { name: wireName.slice(0, dot), mesh: wireName.slice(dot + 1) };
}

function refusalOf(info: TypeInfo, { name, mesh }: ResourceKey, reason: string): Refusal {
  return { type: info.name, name, mesh, reason };
}

function keyText({ mesh, name }: { mesh: string; name: string }): string {
  return JSON.stringify([mesh, name]);
}

function uniqueKeys(keys: readonly ResourceKey[]): ResourceKey[] {
  return [...new Map(keys.map((key) => [keyText(key), key])).values()];
}

/** Bytes of the map on the wire, roughly: text, tags and lengths. */
function sizeOf(versions: ReadonlyMap<string, string>): number {
  let bytes = 0;
  for (const [name, version] of versions) bytes += Buffer.byteLength(name) + version.length + 8;
  return bytes;
}
