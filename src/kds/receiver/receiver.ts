// The xDS client end of one stream: subscribes, gives each response to its sink, answers ACK or NACK.
// Invariants: the rules decide what a peer may write, never its payload. Good resources of a response are stored even if others are
// refused. A response is committed before it is acknowledged.
import type { Clock } from '../../base/clock.ts';
import { MeridianError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { typesByName, type TypeInfo } from '../../resource/type-registry.ts';
import { nameText, type ResourceKey } from '../../resource/types.ts';
import type { FenceWatch } from '../../store/fence-watch.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { decodeInStep, isInStep } from '../../wire/in-step.ts';
import {
  countNamedInSteps,
  decodeDeltaResponseInSteps,
  encodeDeltaRequest,
  type DeltaResponse,
} from '../../wire/kds-messages.ts';
import { readResponse, type Incoming, type ReadResponse, type Validate } from './incoming.ts';
import { nodeMetadata, type OwnNode } from '../protocol/node.ts';
import type { SyncObserver } from '../protocol/sync-events.ts';
import { atOnce, SMALL_BYTES, type Pace } from '../protocol/pace.ts';
import type { ZoneQuotas } from '../admission/quotas.ts';
import { nackMessage, writeNackDetails, type NackedResource } from '../protocol/nack.ts';
import { RefusedResources } from './refused-resources.ts';
import type { ReceiveRules } from '../protocol/rules.ts';
import { RateLimitedLogger } from '../../base/rate-limited-logger.ts';
import { exhausted } from '../../grpc/status.ts';
import { keptMeshes } from './kept-meshes.ts';
import type { Work } from './diff-response.ts';
import { PeerRows } from './peer-rows.ts';
import { storeSink, type AwaitsFullState, type ResourceSink, type SinkOwner } from './resource-sink.ts';
import { oneOfEachMesh } from '../protocol/unknown-meshes.ts';

/** A type that must be received and accepted before the other types are requested (engine 14). */
export type Admission = {
  readonly type: string;
  /** Checks the full state of the type. Rejects with a MeridianError when this peer must not be trusted. */
  readonly check: (resources: readonly Incoming[]) => Promise<void>;
};

export type ReceiverOptions = {
  /** The name of the zone: `node.id` in both directions. */
  readonly zone: string;
  readonly peer: string;
  readonly streamId: string;
  readonly rules: ReceiveRules;
  readonly store: Pick<ResourceStore, 'getMany' | 'list' | 'listMeta' | 'writeBatch' | 'acquireFencingToken'>;
  /** Reports a newer receiver of the peer. Without it, the fence holds at the next write. */
  readonly fences?: Pick<FenceWatch, 'watch'> | undefined;
  readonly node: OwnNode;
  /** The peer is Meridian: the receiver sends versions, gets differences and prunes nothing (D29). */
  readonly resume: boolean;
  /** The peer takes the metadata of a request for those after it (decision 83). */
  readonly remembersNode?: boolean;
  /** Without it, all types are requested at once. */
  readonly admission?: Admission | null;
  readonly maxMessageBytes: number;
  /** Without it, the work is not divided. */
  readonly pace?: Pace;
  /** Makes the sink of the resources. Without it, all are stored at once. */
  readonly sink?: (owner: SinkOwner) => ResourceSink;
  /** The quota of the peer. Without it, there is no limit. */
  readonly quotas?: Pick<ZoneQuotas, 'rows' | 'resourceBytes'>;
  readonly validate: Validate;
  readonly send: (message: Buffer) => void;
  /** Ends the stream: a newer receiver of the peer has opened. */
  readonly fail?: (error: Error) => void;
  readonly observe: SyncObserver;
  readonly log: Logger;
  readonly clock: Clock;
};

export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #types: ReadonlyMap<string, TypeInfo>;
  /**
   * Types whose full state is expected, with the names that have arrived so far. A full state may have several parts. After the last
   * part, rows without a name in it are pruned.
   */
  readonly #fullState = new Map<string, Set<string>>();
  readonly #refused: RefusedResources;
  readonly #warnings: RateLimitedLogger;
  readonly #pace: Pace;
  readonly #rows: PeerRows;
  readonly #sink: ResourceSink;
  readonly #awaits: AwaitsFullState = (type) => this.#fullState.has(type);
  #admission: Admission | null;
  #stopWatching: () => void = () => undefined;
  /** The metadata of the last request that had some. */
  #metadata: Uint8Array | null = null;
  #isClosed = false;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#types = typesByName(options.rules.types);
    this.#warnings = new RateLimitedLogger(options.log, () => options.clock.elapsed());
    this.#admission = options.admission ?? null;
    this.#pace = options.pace ?? atOnce;
    const { peer, rules, store, quotas, resume, observe, sink = storeSink } = options;
    const pace = this.#pace;
    this.#refused = new RefusedResources(quotas?.rows ?? Infinity);
    this.#rows = new PeerRows({ peer, rules, store, pace, most: quotas?.rows ?? null, exactVersions: resume, observe });
    this.#sink = sink({ rows: this.#rows, subscribeAgain: (type) => void this.#subscribeAgain(type) });
  }

  /** Opens the fence and sends one request per type, without waiting (kds-wire 2.2). With an admission, its type is requested first. */
  async start(): Promise<void> {
    const { peer, fences, fail } = this.#options;
    const epoch = await this.#rows.open();
    const text = `another stream of ${peer} has opened later and taken over; this one ends`;
    const lost = (): void => fail?.(new MeridianError('conflict', text));
    this.#stopWatching = fences?.watch({ peer, epoch }, lost) ?? this.#stopWatching;
    const first = this.#types.get(this.#admission?.type ?? '');
    if (first === undefined) await this.#subscribeAll([...this.#types.values()]);
    else this.#subscribe(first, null);
  }

  /** The stream has ended. */
  close(): void {
    this.#isClosed = true;
    this.#stopWatching();
    this.#sink.close();
  }

  /**
   * Takes the bytes of one response as `handle` does, or the types in which this side is in step.
   * @throws Error on invalid bytes, StatusError when the response names more resources than the quota
   */
  async take(bytes: Uint8Array): Promise<void> {
    if (isInStep(bytes)) return await this.#takeInStep(decodeInStep(bytes));
    const pace = bytes.length <= SMALL_BYTES ? atOnce : this.#pace;
    await pace.beforeMessage(bytes.length);
    await this.#requireFewNames(bytes, pace);
    await this.handle(await pace.run(decodeDeltaResponseInSteps(bytes)));
  }

  /** Counts the names before any is stored in memory. */
  async #requireFewNames(bytes: Uint8Array, pace: Pace): Promise<void> {
    const { quotas, peer, observe } = this.#options;
    if (quotas === undefined) return;
    const most = quotas.rows;
    if ((await pace.run(countNamedInSteps(bytes, most))) <= most) return;
    const reason = `the response names more resources than the ${String(most)} that a zone may have; raise multizone.global.kds.quotas.rows on global`;
    observe({ kind: 'overQuota', peer, quota: 'rows', reason });
    throw exhausted(reason);
  }

  /**
   * Stores one response and answers it.
   * @throws when the store is unavailable, the fence is lost, or the type is unknown: the stream must end
   */
  async handle(response: DeltaResponse): Promise<void> {
    const info = this.#infoOf(response.typeUrl);
    const named = response.resources.length + response.removedResources.length;
    if (!this.#sink.admits(info.name, named, this.#awaits(info.name))) return;
    const { peer, streamId, rules, validate, observe, clock } = this.#options;
    const began = clock.elapsed();
    // Most responses of a zone that connects again name nothing.
    const pace = named === 0 ? atOnce : this.#pace;
    const read = await pace.run(readResponse(info, response, rules, validate, this.#options.quotas?.resourceBytes));
    const admission = this.#admission?.type === info.name ? this.#admission : null;
    await admission?.check([...read.resources.values()]);
    const prune = this.#pruneAfter(info, response, read);
    const { removed, kept } = await this.#withoutKept(response, read.removed);
    const work = { incoming: read.resources, removed, prune };
    const { written, refusals } = await this.#sink.keep(info, work, [...read.refusals, ...kept]);
    this.#sink.answer(info.name, written, () => this.#answer(info, response.nonce, refusals));
    const refused = this.#refused.note(info.name, [...read.resources.keys(), ...read.removed.keys()], refusals);
    observe({ kind: 'received', peer, streamId, type: info.name, written, refused, seconds: (clock.elapsed() - began) / 1000 });
    await this.#sink.kept(info.name, this.#awaits);
    if (admission === null) return;
    this.#admission = null;
    await this.#subscribeAll([...this.#types.values()].filter((other) => other !== info));
  }

  /**
   * The peer has nothing for these types: no row changes, and no answer is sent.
   * @throws MeridianError `bad_request` where all resources of a type were asked for: an empty full state is a response
   */
  async #takeInStep(types: readonly string[]): Promise<void> {
    if (types.length > this.#types.size)
      throw new MeridianError('bad_request', 'the peer names more types than it was asked for');
    for (const type of types) {
      this.#infoOf(type);
      if (this.#awaits(type))
        throw new MeridianError('bad_request', `the peer was asked for every ${type} and says that nothing has changed`);
      await this.#sink.inStep(type, this.#awaits);
    }
  }

  #infoOf(type: string): TypeInfo {
    const info = this.#types.get(type);
    if (info === undefined) throw new MeridianError('bad_request', `invalid resource type ${JSON.stringify(type)}`);
    return info;
  }

  /** Subscribes to a type again: the peer sends the difference to the rows that are stored now. */
  async #subscribeAgain(type: string): Promise<void> {
    try {
      const types = [...this.#types.values()].filter(({ name }) => name === type);
      const versions = await this.#rows.versionsOf(types);
      if (this.#isClosed) return;
      for (const info of types) this.#subscribe(info, versions.get(info.name) ?? null);
    } catch (cause) {
      this.#options.fail?.(new MeridianError('unavailable', `the store did not say which ${type}s it has`, { cause }));
    }
  }

  /** The names that the last part of a full state does not prune: all names in the state, also of refused resources. */
  #pruneAfter(info: TypeInfo, { isPartial, heldMeshes }: DeltaResponse, { resources, refusals }: ReadResponse): Work['prune'] {
    const named = this.#fullState.get(info.name);
    if (named === undefined) return null;
    for (const text of [...resources.keys(), ...refusals.map(nameText)]) named.add(text);
    if (isPartial) return null;
    this.#fullState.delete(info.name);
    return { except: named, heldMeshes: new Set(heldMeshes) };
  }

  async #subscribeAll(types: readonly TypeInfo[]): Promise<void> {
    const versions = this.#options.resume ? await this.#rows.versionsOf(types) : null;
    for (const info of types) this.#subscribe(info, versions?.get(info.name) ?? null);
  }

  /** @param versions null asks for the full state */
  #subscribe(info: TypeInfo, versions: ReadonlyMap<string, string> | null): void {
    const { send, zone, node, maxMessageBytes, rules } = this.#options;
    const isSmall = (named: ReadonlyMap<string, string>): boolean => sizeOf(named) <= maxMessageBytes / 2;
    const resumes = versions !== null && !this.#sink.needsFullState(info.name) && isSmall(versions);
    if (!resumes) this.#fullState.set(info.name, new Set());
    // Global then says of which meshes the zone must not prune anything.
    const some = rules.by === 'zone' && versions !== null ? oneOfEachMesh(info.name, versions) : new Map<string, string>();
    const named = resumes ? versions : some;
    send(
      encodeDeltaRequest({
        node: { id: zone, ...this.#newMetadata(nodeMetadata(node, resumes)) },
        typeUrl: info.name,
        subscribe: ['*'],
        unsubscribe: [],
        initialResourceVersions: isSmall(named) ? named : new Map(),
        responseNonce: '',
        errorDetail: null,
      }),
    );
  }

  /** The metadata, or nothing if the peer knows it from an earlier request. */
  #newMetadata(metadata: Uint8Array): { readonly metadata?: Uint8Array } {
    if (this.#options.remembersNode === true && metadata === this.#metadata) return {};
    this.#metadata = metadata;
    return { metadata };
  }

  #answer(info: TypeInfo, responseNonce: string, refusals: readonly NackedResource[]): void {
    const { zone, send } = this.#options;
    const isNack = refusals.length > 0;
    if (isNack) {
      const about = { type: info.name, refused: refusals.slice(0, 10), of: refusals.length };
      this.#warnings.warn(info.name, about, 'refused resources of the peer');
    }
    send(
      encodeDeltaRequest({
        node: { id: zone },
        typeUrl: info.name,
        subscribe: isNack ? ['*'] : [],
        unsubscribe: [],
        initialResourceVersions: new Map(),
        responseNonce,
        errorDetail: isNack ? { code: 0, message: nackMessage(refusals), details: writeNackDetails(refusals) } : null,
      }),
    );
  }

  /** Divides withdrawn Meshes: those that can go, and those that are refused because this zone has rows of its own in them. */
  async #withoutKept(
    { isWithdrawal }: DeltaResponse,
    removed: ReadonlyMap<string, ResourceKey>,
  ): Promise<{ removed: ReadonlyMap<string, ResourceKey>; kept: NackedResource[] }> {
    if (isWithdrawal !== true) return { removed, kept: [] };
    const kept = await keptMeshes(removed.values(), this.#options.store);
    const names = new Set(kept.map(nameText));
    return { removed: new Map([...removed].filter(([text]) => !names.has(text))), kept };
  }
}

/** The approximate size of the map on the wire in bytes: text, tags and lengths. */
function sizeOf(versions: ReadonlyMap<string, string>): number {
  let bytes = 0;
  for (const [name, version] of versions) bytes += Buffer.byteLength(name) + version.length + 8;
  return bytes;
}
