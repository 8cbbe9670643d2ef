// The xDS client end of one stream: subscribes, stores each response in one transaction, answers ACK or NACK.
// Invariants: what a peer may write is decided by the rules, never by its payload; good resources of a response are
// stored although others are refused; nothing is acknowledged before it is committed.
import { MeridianError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { TypeInfo } from '../resource/type-registry.ts';
import type { Resource, ResourceKey } from '../resource/types.ts';
import { encodeDeltaRequest, type DeltaResponse } from '../wire/kds-messages.ts';
import { keyText, readResponse, type Incoming, type ReadResponse, type Validate } from './incoming.ts';
import { nodeMetadata, type OwnNode } from './node.ts';
import type { SyncObserver } from './observer.ts';
import type { Sink, SinkWrite } from './ports.ts';
import { describeRefusals, refusalOf, writeRefusals, type Refusal } from './refusal.ts';
import type { ReceiveRules } from './rules.ts';
import { planWrites, type Work } from './write-plan.ts';

/** Conflicts with other writers are re-read and tried again this often (kds-wire 6.2.5). */
const ATTEMPTS = 4;

/** A type that must be seen, and found good, before the others are asked for (engine 14). */
export type Admission = {
  readonly type: string;
  /** Takes the full state of the type. @throws MeridianError when this peer must not be obeyed */
  readonly check: (resources: readonly Incoming[]) => void;
};

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
  /** Left out: all types at once. */
  readonly admission?: Admission | null;
  readonly maxMessageBytes: number;
  readonly validate: Validate;
  readonly send: (message: Buffer) => void;
  readonly observe: SyncObserver;
  readonly log: Logger;
  readonly now: () => number;
};

export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #types: ReadonlyMap<string, TypeInfo>;
  /**
   * Types of which the full state is due, with what of it was named so far: it may come in parts, and after the last what it
   * lacks is pruned.
   */
  readonly #fullState = new Map<string, Set<string>>();
  /** What was refused and has not been accepted since, per type and stored name. */
  readonly #refused = new Map<string, Map<string, Refusal>>();
  #admission: Admission | null;
  #epoch = 0;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#types = new Map(options.rules.types.map((info) => [info.name, info]));
    this.#admission = options.admission ?? null;
  }

  /** Opens the fence and sends one request per type, without waiting (kds-wire 2.2), unless one type goes before the others. */
  async start(): Promise<void> {
    this.#epoch = await this.#options.sink.raiseEpoch();
    const first = this.#admission?.type;
    for (const info of this.#types.values()) {
      if (first === undefined) await this.#subscribe(info, this.#options.resume);
      else if (info.name === first) await this.#subscribe(info, false);
    }
  }

  /**
   * Stores one response and answers it.
   * @throws when the store cannot be reached, the fence is lost, or the type is unknown: the stream must end
   */
  async handle(response: DeltaResponse): Promise<void> {
    const info = this.#types.get(response.typeUrl);
    if (info === undefined) throw new MeridianError('bad_request', `invalid resource type ${JSON.stringify(response.typeUrl)}`);
    const { peer, streamId, rules, validate, observe, now } = this.#options;
    const began = now();
    const read = readResponse(info, response, rules, validate);
    const admission = this.#admission?.type === info.name ? this.#admission : null;
    admission?.check([...read.resources.values()]);
    const prune = this.#pruneAfter(info, response, read);
    const work = { incoming: read.resources, removed: read.removed, prune };
    const { written, refusals } = await this.#store(info, work, read.refusals);
    this.#answer(info, response.nonce, refusals);
    const refused = this.#remember(info, [...read.resources.keys(), ...read.removed.keys()], refusals);
    observe({ kind: 'received', peer, streamId, type: info.name, written, refused, seconds: (now() - began) / 1000 });
    if (admission === null) return;
    this.#admission = null;
    for (const other of this.#types.values()) if (other !== info) await this.#subscribe(other, this.#options.resume);
  }

  /** What the last part of a full state leaves alone: all that was named in it, whether it was good or not. */
  #pruneAfter(info: TypeInfo, { isPartial }: DeltaResponse, { resources, refusals }: ReadResponse): Work['prune'] {
    const named = this.#fullState.get(info.name);
    if (named === undefined) return null;
    for (const text of [...resources.keys(), ...refusals.map(keyText)]) named.add(text);
    if (isPartial) return null;
    this.#fullState.delete(info.name);
    return { except: named };
  }

  async #subscribe(info: TypeInfo, resume: boolean): Promise<void> {
    const { send, zone, node, maxMessageBytes } = this.#options;
    const versions = resume ? await this.#versionsOf(info) : null;
    const fits = versions !== null && sizeOf(versions) <= maxMessageBytes / 2;
    if (!fits) this.#fullState.set(info.name, new Set());
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

  #answer(info: TypeInfo, responseNonce: string, refusals: readonly Refusal[]): void {
    const { zone, send, log } = this.#options;
    const isNack = refusals.length > 0;
    if (isNack)
      log.warn({ type: info.name, refused: refusals.slice(0, 10), of: refusals.length }, 'refused resources of the peer');
    send(
      encodeDeltaRequest({
        node: { id: zone },
        typeUrl: info.name,
        subscribe: isNack ? ['*'] : [],
        unsubscribe: [],
        initialResourceVersions: new Map(),
        responseNonce,
        errorDetail: isNack ? { code: 0, message: describeRefusals(refusals), details: writeRefusals(refusals) } : null,
      }),
    );
  }

  /** @returns everything of the type that is refused now */
  #remember(info: TypeInfo, seen: readonly string[], refusals: readonly Refusal[]): Refusal[] {
    const known = this.#refused.get(info.name) ?? new Map<string, Refusal>();
    for (const text of seen) known.delete(text);
    for (const refusal of refusals) known.set(keyText(refusal), refusal);
    this.#refused.set(info.name, known);
    return [...known.values()];
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

  /** Writes what differs; a row that another writer changes meanwhile is read and decided again. */
  async #store(info: TypeInfo, all: Work, refusedBefore: readonly Refusal[]): Promise<{ written: number; refusals: Refusal[] }> {
    const { rules, resume, sink } = this.#options;
    const refusals = [...refusedBefore];
    let written = 0;
    let work: Work | null = all;
    for (let attempt = 1; work !== null; attempt += 1) {
      const stored = await this.#rowsFor(info, work);
      const plan = planWrites({ info, rules, ...work, stored, exactVersions: resume });
      refusals.push(...plan.refusals);
      if (plan.writes.length === 0) break;
      const outcomes = await sink.write(plan.writes, this.#epoch);
      const again: Work & { incoming: Map<string, Incoming>; removed: Map<string, ResourceKey> } = {
        ...{ incoming: new Map(), removed: new Map(), prune: null },
      };
      for (const [index, outcome] of outcomes.entries()) {
        const { op, key } = plan.writes[index] as SinkWrite;
        const resource = work.incoming.get(keyText(key));
        if ('version' in outcome) written += 1;
        else if (outcome.result === 'rejected') refusals.push(refusalOf(info.name, key, outcome.message));
        else if (op === 'delete' && outcome.result === 'missing') continue;
        else if (attempt === ATTEMPTS)
          refusals.push(refusalOf(info.name, key, 'another writer changes this row again and again'));
        else if (op === 'delete') again.removed.set(keyText(key), key);
        else if (resource !== undefined) again.incoming.set(keyText(key), resource);
      }
      work = again.incoming.size > 0 || again.removed.size > 0 ? again : null;
    }
    return { written, refusals };
  }

  /** The stored rows that matter: those named, or, for a full state, all in scope and those named. */
  async #rowsFor(info: TypeInfo, { incoming, removed, prune }: Work): Promise<Map<string, Resource>> {
    const keys = new Map(removed);
    for (const [text, { name, mesh }] of incoming) keys.set(text, { type: info.name, mesh, name });
    const rows = keys.size === 0 ? [] : await this.#options.sink.getMany([...keys.values()]);
    if (prune !== null) rows.push(...(await this.#rowsInScope(info)));
    return new Map(rows.map((row) => [keyText(row), row]));
  }
}

/** Bytes of the map on the wire, roughly: text, tags and lengths. */
function sizeOf(versions: ReadonlyMap<string, string>): number {
  let bytes = 0;
  for (const [name, version] of versions) bytes += Buffer.byteLength(name) + version.length + 8;
  return bytes;
}
