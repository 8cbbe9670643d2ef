// The xDS server end of one stream: takes requests, and answers them from the changelog when the stream has room. The same for both
// directions; the peer and the rules differ. type-stream.ts holds one type of the stream.
import { hash } from 'node:crypto';
import { RunQueue } from '../../base/run-queue.ts';
import { compareText } from '../../base/compare-text.ts';
import { MeridianError } from '../../base/errors.ts';
import type { ResourceKey } from '../../resource/types.ts';
import { ANY_ZONE } from '../../resource/zone-profile.ts';
import { encodeInStep } from '../../wire/in-step.ts';
import type { DeltaRequest } from '../../wire/kds-messages.ts';
import { AnswerWatch, type Unanswered } from '../protocol/answer-watch.ts';
import { isVisibleTo, type Viewer } from '../protocol/rules.ts';
import type { Changelog } from '../log/changelog.ts';
import { formFor, type PeerView } from '../log/entry.ts';
import { FirstState, type FirstStateOptions, type Phase } from './first-state.ts';
import type { InitialSyncLimiter } from '../admission/initial-sync-limiter.ts';
import { slotsToReview } from '../log/membership-change.ts';
import { namesWithoutMesh } from './nacked-resources.ts';
import { readNodeMetadata } from '../protocol/node.ts';
import type { Item } from './response-draft.ts';
import { RateLimitedLogger } from '../../base/rate-limited-logger.ts';
import type { DeliveryNow } from './delivery.ts';
import type { Lag, TypeProgress, Unaccepted } from './open-senders.ts';
import { Subscription } from './subscription.ts';
import { Nonces, TypeStream, type SharedByTypes, type StreamOptions } from './type-stream.ts';
import { holdUnknown, meshesIn } from '../protocol/unknown-meshes.ts';
import type { ZoneChange, ZoneRegistry } from '../protocol/zone-access.ts';

/** The largest number of unknown types of a peer. A peer of another version may request some. */
const MAX_UNKNOWN_TYPES = 100;
/** Room for type, nonce and sender in a message. */
const ENVELOPE_BYTES = 512;

export type SenderOptions = StreamOptions &
  Pick<FirstStateOptions, 'answered' | 'delayed'> & {
    readonly changelog: Changelog;
    readonly initialSyncLimiter: InitialSyncLimiter;
    /** It is null on a zone, which sends only to global. */
    readonly zones: Pick<ZoneRegistry, 'profileOf' | 'watch' | 'caughtUp'> | null;
    /** Sends a message, which may wait for `flush`. */
    readonly send: (message: Buffer) => void;
    /** The queue of all streams of the process. Without it this stream has turns of its own. */
    readonly queue?: RunQueue;
    /** It is called at the end of each turn. */
    readonly flush?: () => void;
    /** The peer reads that it is in step with types (decision 83). */
    readonly readsInStep?: boolean;
    /**
     * Returns false while messages of this stream wait in this process. Changes then wait in the log until `drained` is called.
     */
    readonly hasRoom?: () => boolean;
  };

/** The node of a peer without metadata. */
const STRANGER = { digest: '', features: [], resumes: false };

export class Sender {
  readonly #options: SenderOptions;
  readonly #types = new Map<string, TypeStream>();
  /** Types that may have something to send, the next one first. A list: a Set makes itself smaller and larger again with each change. */
  readonly #due: string[] = [];
  /** The types of this turn of which the peer has everything. */
  #inStep: string[] = [];
  readonly #stop: () => void;
  readonly #stopWatching: () => void;
  readonly #shared: SharedByTypes;
  readonly #answers: AnswerWatch;
  readonly #queue: RunQueue;
  readonly #chunkBytes: () => number;
  /** The view of the peer on the types of this stream, for the features that it named last. */
  #view: PeerView;
  /** The last metadata of the peer. `digest` is its hash, because every subscription repeats the metadata. */
  #node: { readonly digest: string; readonly features: readonly string[]; readonly resumes: boolean } = STRANGER;
  /** Meshes that the peer has and this side has never had. */
  readonly #unknownMeshes = new Set<string>();
  readonly #firstState: FirstState;
  /** The phase of the first state. */
  #phase: Phase = 'waiting';
  #scheduled = false;
  #closed = false;
  /** The time at which the stream began, in milliseconds of the clock. */
  readonly openedAt: number;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.openedAt = options.clock.elapsed();
    const { clock, log, fail, initialSyncLimiter, maxMessageBytes } = options;
    const warnings = new RateLimitedLogger(log, () => clock.elapsed());
    this.#shared = { ...options, warnings, retry: (type) => this.#wake(type), lost: (items) => this.#retryNamesOf(items) };
    this.#answers = new AnswerWatch({ clock, oldest: () => this.#oldestUnanswered(), fail });
    this.#queue = options.queue ?? new RunQueue(clock);
    this.#chunkBytes = () => Math.min(initialSyncLimiter.messageBytes, maxMessageBytes / 2);
    this.#view = this.#viewWith(STRANGER.features);
    this.#firstState = new FirstState(options, (phase) => {
      this.#phase = phase;
      this.#schedule();
    });
    this.#stop = options.changelog.onAppend((type) => {
      if (type === 'Mesh') this.#endWhenKnown();
      const stream = this.#types.get(type);
      if (stream === undefined) return;
      stream.changed();
      this.#wake(type);
    });
    this.#stopWatching = options.zones?.watch(options.peer, (change) => this.#review(change)) ?? (() => undefined);
  }

  /** Settles when this replica knows every change that another replica may have sent to the peer (engine 10). */
  async ready(): Promise<void> {
    const { changelog, zones } = this.#options;
    await Promise.all([changelog.caughtUp(), zones?.caughtUp()]);
  }

  /**
   * Reads the rows that a request needs from the store. Call it before `handle`.
   * @returns null where it needs none, as an acknowledgement. Rejects when the store does not answer
   */
  prepare({ typeUrl, responseNonce, initialResourceVersions }: DeltaRequest): Promise<void> | null {
    const { changelog } = this.#options;
    if (changelog.rules.from !== 'global' || responseNonce !== '' || initialResourceVersions.size === 0) return null;
    return changelog.unknownMeshes(meshesIn(typeUrl, initialResourceVersions.keys())).then((meshes) => {
      // One of the meshes may have been created since it was looked for.
      for (const mesh of meshes) if (!changelog.hasMesh(mesh)) this.#unknownMeshes.add(mesh);
    });
  }

  /** Takes one request: a subscription (empty nonce), an ACK, or a NACK (with `error_detail`). */
  handle(request: DeltaRequest): void {
    if (this.#closed) return;
    if (request.responseNonce === '') this.#subscribe(request);
    else this.#settle(request);
  }

  /** Whether the peer has its first state, and has answered everything. */
  get isSettled(): boolean {
    return this.#phase !== 'waiting' && this.#areAllSettled();
  }

  /** Whether the peer says which versions it has, and is then sent the difference alone. */
  get resumes(): boolean {
    return this.#node.resumes;
  }

  /** Types whose state on the peer is incomplete. */
  behind(): string[] {
    return [...this.#types].filter(([, { subscription }]) => subscription?.isBehind === true).map(([type]) => type);
  }

  /**
   * The types with changes that the peer has not confirmed, and the time of the oldest of these; null if it has confirmed all.
   */
  lag(): Lag | null {
    // This is asked for all peers at once, most of which have confirmed everything.
    const waiting: { readonly type: string; readonly behindSince: Date }[] = [];
    for (const [type, { behindSince }] of this.#types) if (behindSince !== null) waiting.push({ type, behindSince });
    const [first] = waiting.sort((a, b) => a.behindSince.getTime() - b.behindSince.getTime());
    return first === undefined ? null : { since: first.behindSince, types: waiting.map(({ type }) => type) };
  }

  /** The types of which something was sent, with the milliseconds since the oldest response that the peer has not accepted. */
  *unaccepted(): Iterable<Unaccepted> {
    for (const [type, { unacceptedMs: ms }] of this.#types) if (ms !== null) yield { type, ms };
  }

  /** The progress of the peer with each type that it subscribed to, by name. */
  progress(): TypeProgress[] {
    const known = [...this.#types.values()].flatMap((stream) => stream.progress() ?? []);
    return known.sort((a, b) => compareText(a.type, b.type));
  }

  /**
   * The state of a row at the peer by the log as it is. Wait for `ready` first, so that every change that is committed is in it.
   */
  deliveryNow(row: ResourceKey): DeliveryNow {
    const { changelog } = this.#options;
    const stream = this.#types.get(row.type);
    const slot = changelog.slotOf(row);
    // A peer that has not subscribed to the type yet has nothing of it from this stream.
    if (stream?.subscription === undefined || stream.subscription === null || slot === undefined)
      return { state: 'pending', reason: null, since: null };
    const holding = stream.subscription.holding(slot);
    switch (holding.state) {
      case 'acknowledged':
        return { ...holding, since: stream.confirmedAt(slot.position) };
      case 'pending':
        return { ...holding, since: stream.behindSince };
      default:
        return { ...holding, since: null };
    }
  }

  /** The stream takes messages again. */
  drained(): void {
    this.#schedule();
  }

  /** Ends the work for this stream and releases all slots. Idempotent. */
  close(): void {
    this.#closed = true;
    this.#stop();
    this.#stopWatching();
    this.#firstState.close();
    this.#answers.close();
    for (const stream of this.#types.values()) stream.close();
    this.#types.clear();
  }

  #subscribe({ typeUrl, node, initialResourceVersions }: DeltaRequest): void {
    const { changelog, readsInStep = false } = this.#options;
    if (node.metadata !== undefined) this.#meet(node.metadata);
    const before = this.#types.get(typeUrl);
    const unacceptedSince = before?.unacceptedSince ?? null;
    before?.close();
    const log = changelog.logOf(typeUrl);
    if (log === undefined) this.#requireFewUnknown(typeUrl);
    const { resumes } = this.#node;
    const { known, held } = holdUnknown(typeUrl, initialResourceVersions, this.#unknownMeshes);
    const subscription =
      log === undefined
        ? null
        : new Subscription(log, this.#view, { known: resumes ? known : null, chunkBytes: this.#chunkBytes });
    const stream = new TypeStream(this.#shared, {
      ...{ type: typeUrl, subscription, nonces: before?.nonces ?? new Nonces(), behindSince: before?.behindSince ?? null },
      unacceptedSince,
      held,
      // A peer that resumes is sent what it loses; another prunes after its full state.
      ...(resumes ? { saysInStep: readsInStep } : { heldMeshes: [...meshesIn(typeUrl, held.keys())] }),
    });
    this.#types.set(typeUrl, stream);
    const { peer, streamId, observe } = this.#options;
    // A peer may send any type name: observers need not know unknown ones.
    if (before !== undefined && log !== undefined) observe({ kind: 'resubscribed', peer, streamId, type: typeUrl });
    const hasVersions = resumes && initialResourceVersions.size > 0;
    this.#firstState.asked({ type: typeUrl, hasVersions, resources: log?.size ?? 0, isAgain: before !== undefined });
    this.#wake(typeUrl);
  }

  /** An unknown mesh was created: a new stream compares its resources again. */
  #endWhenKnown(): void {
    const { changelog, fail } = this.#options;
    for (const mesh of this.#unknownMeshes) {
      if (!changelog.hasMesh(mesh)) continue;
      this.#unknownMeshes.clear();
      fail(new MeridianError('unavailable', `mesh ${JSON.stringify(mesh)} was created; reconnect to compare its resources`));
      return;
    }
  }

  get features(): ReadonlySet<string> | null {
    return this.#node === STRANGER ? null : new Set(this.#node.features);
  }

  #meet(metadata: Uint8Array): void {
    const digest = hash('sha256', metadata);
    if (digest === this.#node.digest) return;
    const { peer, streamId, observe } = this.#options;
    const { node, resumes } = readNodeMetadata(metadata);
    this.#node = { digest, features: node.features, resumes };
    this.#view = this.#viewWith(node.features);
    observe({ kind: 'node', peer, streamId, node });
  }

  /** Limits unknown types: each costs memory, and a peer may send any number. */
  #requireFewUnknown(type: string): void {
    const unknown = [...this.#types].filter(([name, { subscription }]) => subscription === null && name !== type).length;
    if (unknown >= MAX_UNKNOWN_TYPES) throw new MeridianError('bad_request', 'too many types that this side does not provide');
  }

  #viewWith(named: readonly string[]): PeerView {
    const { peer, zones, changelog, maxMessageBytes } = this.#options;
    const features = new Set(named);
    const viewer: Viewer = { zone: peer, features, profileOf: (zone) => zones?.profileOf(zone) ?? ANY_ZONE };
    return {
      form: formFor(features, changelog.rules.from),
      largestBytes: maxMessageBytes - ENVELOPE_BYTES,
      canSee: ({ visibility }) => isVisibleTo(visibility, viewer),
    };
  }

  /** The peer's own Zone has changed: what it may see of some meshes, or by its labels, is compared with what it has. */
  #review(change: ZoneChange): void {
    for (const [type, stream] of this.#types) {
      const log = stream.subscription?.log;
      if (log === undefined) continue;
      if (stream.subscription?.review(slotsToReview(log, change)) !== true) continue;
      stream.changed();
      this.#wake(type);
    }
  }

  #settle(request: DeltaRequest): void {
    const stream = this.#types.get(request.typeUrl);
    if (stream?.settle(request) !== true) return;
    this.#answered();
    if (stream.hasMore) this.#wake(request.typeUrl);
  }

  /** A peer on Kubernetes has one name for the secrets of all meshes and types: what it refused may fit now. */
  #retryNamesOf(lost: readonly Item[]): void {
    const names = new Set(lost.flatMap(namesWithoutMesh));
    for (const [type, { subscription }] of this.#types) if (subscription?.nacked.retryNames(names) === true) this.#wake(type);
  }

  /** The peer has answered something. */
  #answered(): void {
    if (this.#phase !== 'done') this.#firstState.answered(this.#areAllSettled());
  }

  #areAllSettled(): boolean {
    if (!this.#firstState.isAsked) return false;
    for (const { subscription } of this.#types.values()) if (subscription?.isSettled === false) return false;
    return true;
  }

  #oldestUnanswered(): Unanswered | null {
    let oldest: Unanswered | null = null;
    for (const [type, { waitsSince: since }] of this.#types)
      if (since !== null && since < (oldest?.since ?? Infinity)) oldest = { type, since };
    return oldest;
  }

  #wake(type: string): void {
    if (!this.#due.includes(type)) this.#due.push(type);
    this.#schedule();
  }

  /** Sends the changes of one turn of the event loop together. */
  #schedule(): void {
    if (this.#scheduled || this.#phase === 'waiting' || this.#closed) return;
    this.#scheduled = true;
    this.#queue.add(this);
  }

  /** Sends what is due; `RunQueue` calls it. */
  runOnce(): void {
    this.#scheduled = false;
    // The peer may have asked for everything again since then, and waits for a permit.
    if (this.#phase === 'waiting' || this.#closed) return;
    const { hasRoom } = this.#options;
    for (let type = this.#due[0]; type !== undefined && hasRoom?.() !== false; type = this.#due[0]) {
      this.#due.shift();
      this.#respond(type);
    }
    this.#sendInStep();
    this.#options.flush?.();
  }

  #respond(type: string): void {
    const { peer, streamId, send, observe } = this.#options;
    const stream = this.#types.get(type);
    const response = stream?.next() ?? null;
    if (response === null) return;
    const { message, draft } = response;
    if (message === null) {
      this.#inStep.push(type);
      return;
    }
    const again = stream?.subscription?.again ?? [];
    send(message);
    this.#answers.sent();
    if (this.#phase === 'sending') this.#firstState.sent(message.length);
    // A peer may send any type name: unknown ones must not become metric labels.
    if (stream?.subscription === null) return;
    const { entries, removed } = draft;
    const about = { peer, streamId, type, position: draft.upTo, ...(again.length > 0 && { again }) };
    observe({ kind: 'sent', ...about, resources: entries.length, removed: removed.length, bytes: message.length });
  }

  /** Sends one message for all types of the turn. */
  #sendInStep(): void {
    if (this.#inStep.length === 0) return;
    this.#options.send(encodeInStep(this.#inStep));
    this.#inStep = [];
    this.#answered();
  }
}
