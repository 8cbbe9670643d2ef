// The xDS server end of one stream: answers requests from the changelog, one response in flight per type.
// The same for both directions; the peer and the rules differ.
import { hash } from 'node:crypto';
import { MeridianError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { encodeDeltaResponse, type DeltaRequest, type DeltaResponseParts } from '../wire/kds-messages.ts';
import type { Changelog } from './changelog.ts';
import type { Draft } from './draft.ts';
import type { Entry, Form } from './entry.ts';
import { feature } from './features.ts';
import type { InitialSyncLimiter, Permit } from './initial-sync-limiter.ts';
import { readNodeMetadata } from './node.ts';
import type { SyncObserver } from './sync-events.ts';
import { nackFaultOf, readNackDetails, type NackedResource } from './nack.ts';
import { ProblemReports } from './problem-reports.ts';
import { RateLimitedLogger } from './rate-limited-logger.ts';
import { Subscription, type PeerView } from './subscription.ts';
import { holdUnknown, meshesIn } from './unknown-meshes.ts';
import type { ZoneRegistry } from './zone-access.ts';

/** A peer of another version may ask for types that are not known here. */
const MAX_UNKNOWN_TYPES = 100;
/** Room for type, nonce and sender in a message. */
const ENVELOPE_BYTES = 512;
/** The largest message over a link of 40 kB/s takes as long. */
const STUCK_MS = 300_000;
const FIRST_RETRY_MS = 5_000;
const MAX_RETRY_MS = 300_000;
/** Characters of a peer's words in a line of the log; a message may be full of them. */
const MAX_REASON = 1_000;

export type SenderOptions = {
  /** Zone name of the peer, or of this zone where the peer is global: `node.id` in both directions. */
  readonly peer: string;
  readonly streamId: string;
  /** `control_plane.identifier`: `global`, or the zone's name (kds-wire 2.2). */
  readonly identifier: string;
  readonly changelog: Changelog;
  readonly initialSyncLimiter: InitialSyncLimiter;
  /** Null where zones do not matter: a zone sends to global alone. */
  readonly zones: ZoneRegistry | null;
  readonly maxMessageBytes: number;
  /** `encodeDeltaResponse`, or a wrapper that shares its results among streams. Callers must not change the result. */
  readonly encode?: (response: DeltaResponseParts) => Buffer;
  readonly send: (message: Buffer) => void;
  /** False while messages of this stream wait in this process: changes wait in the log then, until `drained` is called. */
  readonly hasRoom?: () => boolean;
  /** Ends the stream: the peer reconnects and resumes. */
  readonly fail: (error: Error) => void;
  readonly observe: SyncObserver;
  readonly log: Logger;
  readonly now: () => number;
};

/**
 * The nonces of one type on one stream: positions of the log, so that peers in the same state get the same message. A position
 * that comes again, as after a refusal or a new subscription, gets another nonce.
 */
class Nonces {
  #last = -1;
  #permit = 0;

  next(position: number): string {
    if (position <= this.#last) this.#permit += 1;
    this.#last = position;
    return this.#permit === 0 ? String(position) : `${String(position)}.${String(this.#permit)}`;
  }
}

/** Of a peer that has said nothing of itself. */
const STRANGER = { digest: '', features: [], resumes: false };

type Active = {
  /** Null for a type that this side does not provide. */
  readonly subscription: Subscription | null;
  readonly nonces: Nonces;
  nonce: string;
  sentAt: number;
  retryMs: number;
  readonly reports: ProblemReports;
  watch?: NodeJS.Timeout;
  /** One for all that was refused: it is tried again together. */
  retry?: NodeJS.Timeout | undefined;
};

export class Sender {
  readonly #options: SenderOptions;
  readonly #active = new Map<string, Active>();
  readonly #dirty = new Set<string>();
  readonly #stop: () => void;
  readonly #warnings: RateLimitedLogger;
  /** Who subscribes, as it said last; `digest` is of the metadata, which each of its subscriptions repeats. */
  #node: { readonly digest: string; readonly features: readonly string[]; readonly resumes: boolean } = STRANGER;
  /** Meshes that the peer has and this side has never had. */
  readonly #unknownMeshes = new Set<string>();
  #admitted = false;
  /** For the first states of this stream; null until it subscribes. */
  #permit: Permit | null = null;
  #scheduled = false;
  #closed = false;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#warnings = new RateLimitedLogger(options.log, options.now);
    this.#stop = options.changelog.onAppend((type) => {
      if (type === 'Mesh') this.#endWhenKnown();
      if (this.#active.has(type)) this.#wake(type);
    });
  }

  /** Settles when this replica knows every change that another replica may have sent to the peer (engine 10). */
  async ready(): Promise<void> {
    await this.#options.changelog.caughtUp();
  }

  /** Reads the rows that a request needs from the store. Call it before `handle`. Rejects when the store does not answer. */
  async prepare({ typeUrl, responseNonce, initialResourceVersions }: DeltaRequest): Promise<void> {
    const { changelog } = this.#options;
    if (changelog.rules.from !== 'global' || responseNonce !== '' || initialResourceVersions.size === 0) return;
    const meshes = meshesIn(typeUrl, initialResourceVersions.keys());
    for (const mesh of await changelog.unknownMeshes(meshes)) this.#unknownMeshes.add(mesh);
  }

  /** Takes one request: a subscription (empty nonce), an ACK, or a NACK (with `error_detail`). */
  handle(request: DeltaRequest): void {
    if (this.#closed) return;
    if (request.responseNonce === '') this.#subscribe(request);
    else this.#settle(request);
  }

  /** Types whose state on the peer is incomplete. */
  behind(): string[] {
    return [...this.#active].filter(([, { subscription }]) => subscription?.isBehind === true).map(([type]) => type);
  }

  /** The stream takes messages again. */
  drained(): void {
    this.#schedule();
  }

  /** Ends the work for this stream and lets go of all slots. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stop();
    this.#permit?.leave();
    for (const active of this.#active.values()) letGo(active);
    this.#active.clear();
  }

  #subscribe({ typeUrl, node, initialResourceVersions }: DeltaRequest): void {
    const { peer, streamId, changelog, initialSyncLimiter, maxMessageBytes, observe } = this.#options;
    if (node.metadata !== undefined) this.#meet(node.metadata);
    const before = this.#active.get(typeUrl);
    if (before !== undefined) letGo(before);
    const log = changelog.logOf(typeUrl);
    if (log === undefined) this.#requireFewUnknown(typeUrl);
    const resumes = node.metadata !== undefined && this.#node.resumes;
    const { known, held } = holdUnknown(typeUrl, initialResourceVersions, this.#unknownMeshes);
    const subscription =
      log === undefined
        ? null
        : new Subscription(log, this.#viewOf(this.#node.features), {
            known: resumes ? known : null,
            chunkBytes: () => Math.min(initialSyncLimiter.messageBytes, maxMessageBytes / 2),
          });
    this.#active.set(typeUrl, {
      ...{ subscription, nonces: before?.nonces ?? new Nonces(), nonce: '', sentAt: 0, retryMs: FIRST_RETRY_MS },
      reports: new ProblemReports({
        ...{ peer, streamId, observe, log: this.#options.log, warnings: this.#warnings },
        ...{ type: typeUrl, held: resumes ? held : new Map() },
      }),
    });
    if (before !== undefined) this.#leave();
    this.#enter();
    this.#wake(typeUrl);
  }

  /** One that asks for everything once more waits for its place once more. */
  #leave(): void {
    this.#permit?.leave();
    this.#permit = null;
    this.#admitted = false;
  }

  /** An unknown mesh was created: a new stream compares its resources again. */
  #endWhenKnown(): void {
    const { changelog, fail } = this.#options;
    for (const mesh of this.#unknownMeshes) {
      if (!changelog.hasMesh(mesh)) continue;
      this.#unknownMeshes.clear();
      fail(new MeridianError('unavailable', `mesh ${JSON.stringify(mesh)} was created; connect again to compare its resources`));
      return;
    }
  }

  #meet(metadata: Uint8Array): void {
    const digest = hash('sha256', metadata);
    if (digest === this.#node.digest) return;
    const { peer, streamId, observe } = this.#options;
    const { node, resumes } = readNodeMetadata(metadata);
    this.#node = { digest, features: node.features, resumes };
    observe({ kind: 'node', peer, streamId, node });
  }

  /** Each costs memory, and a peer could name as many as it likes. */
  #requireFewUnknown(type: string): void {
    const unknown = [...this.#active].filter(([name, { subscription }]) => subscription === null && name !== type).length;
    if (unknown >= MAX_UNKNOWN_TYPES) throw new MeridianError('bad_request', 'too many types that this side does not provide');
  }

  #viewOf(features: readonly string[]): PeerView {
    const { peer, zones } = this.#options;
    const known = new Set(features);
    return {
      form: this.#formFor(known),
      largestBytes: this.#options.maxMessageBytes - ENVELOPE_BYTES,
      canSee: ({ visibility }: Entry) => {
        if (visibility.to === 'nobody') return false;
        if (visibility.feature !== undefined && !known.has(visibility.feature)) return false;
        return visibility.to === 'all' || (visibility.zone !== peer && zones?.isEnabled(visibility.zone) !== false);
      },
    };
  }

  #formFor(features: ReadonlySet<string>): Form {
    if (features.has(feature.meridian)) return 'native';
    const hashed = this.#options.changelog.rules.from === 'zone' || features.has(feature.hashSuffix);
    return hashed ? 'kuma' : 'legacy';
  }

  #settle({ typeUrl, responseNonce, errorDetail }: DeltaRequest): void {
    const active = this.#active.get(typeUrl);
    if (active === undefined || active.nonce !== responseNonce) return;
    const { peer, streamId, observe, now } = this.#options;
    active.nonce = '';
    clearTimeout(active.watch);
    const { subscription } = active;
    if (subscription === null) return;
    if (errorDetail === null) {
      subscription.acknowledge();
      if (subscription.nacked.size === 0) active.retryMs = FIRST_RETRY_MS;
      active.reports.refused(subscription);
      observe({ kind: 'acknowledged', peer, streamId, type: typeUrl, seconds: (now() - active.sentAt) / 1000 });
    } else {
      const { message, details } = errorDetail;
      const named = readNackDetails(details);
      subscription.reject(reasonsByName(named), message.slice(0, MAX_REASON));
      active.reports.refused(subscription);
      observe({ kind: 'rejected', peer, streamId, type: typeUrl, fault: nackFaultOf(named, message), message });
    }
    if (subscription.nacked.size > 0) this.#retryLater(typeUrl, active);
    this.#permit?.progress();
    if ([...this.#active.values()].every(({ subscription: one }) => one?.isSettled !== false)) this.#permit?.leave();
    this.#wake(typeUrl);
  }

  #retryLater(type: string, active: Active): void {
    if (active.retry !== undefined) return;
    active.retry = setTimeout(() => {
      active.retry = undefined;
      active.subscription?.retry();
      this.#respond(type, active);
    }, active.retryMs).unref();
    active.retryMs = Math.min(active.retryMs * 2, MAX_RETRY_MS);
  }

  /** A stream without an answer is stuck. The sender ends it, so that the peer opens a new one (pain 13624). */
  #watch(type: string, active: Active, nonce: string): void {
    clearTimeout(active.watch);
    active.watch = setTimeout(() => {
      if (this.#closed || active.nonce !== nonce) return;
      const text = `no answer to the ${type} of this stream for ${String(STUCK_MS / 60_000)} minutes; connect again`;
      this.#options.fail(new MeridianError('unavailable', text));
    }, STUCK_MS).unref();
  }

  #enter(): void {
    if (this.#permit !== null || this.#closed) return;
    this.#permit = this.#options.initialSyncLimiter.enter(this.#options.peer, () => {
      this.#admitted = true;
      this.#schedule();
    });
  }

  #wake(type: string): void {
    this.#dirty.add(type);
    this.#schedule();
  }

  /** Changes of one turn of the event loop go together. */
  #schedule(): void {
    if (this.#scheduled || !this.#admitted || this.#closed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#closed) return;
      const types = [...this.#dirty];
      this.#dirty.clear();
      for (const type of types) {
        const active = this.#active.get(type);
        if (active !== undefined) this.#respond(type, active);
      }
    });
  }

  #respond(type: string, active: Active): void {
    if (this.#closed || active.nonce !== '') return;
    if (this.#options.hasRoom?.() === false) {
      this.#dirty.add(type);
      return;
    }
    const draft = nextDraft(active);
    if (active.subscription !== null) {
      active.reports.refused(active.subscription);
      active.reports.withheld(active.subscription);
    }
    if (draft === null) return;
    const { peer, streamId, identifier, maxMessageBytes, encode = encodeDeltaResponse, now, send, observe } = this.#options;
    const { entries, removed, isPartial } = draft;
    const nonce = active.nonces.next(draft.upTo);
    const response = { typeUrl: type, nonce, controlPlane: identifier, entries, removed, isPartial };
    const message = draft.bytes > maxMessageBytes ? null : encode(response);
    if (message === null || message.length > maxMessageBytes) {
      // A response smaller than the full state would be read as that, and the peer would prune all it does not name. The full
      // state is tried again whenever the type changes.
      active.subscription?.withdraw();
      active.reports.tooLarge(message?.length ?? draft.bytes, maxMessageBytes);
      return;
    }
    active.reports.fits();
    active.nonce = nonce;
    active.sentAt = now();
    send(message);
    this.#permit?.spent(message.length);
    this.#watch(type, active, nonce);
    // A peer may invent names of types: unknown ones must not become metric labels.
    if (active.subscription === null) return;
    observe({
      kind: 'sent',
      peer,
      streamId,
      type,
      resources: entries.length,
      removed: removed.length,
      bytes: message.length,
    });
  }
}

function letGo({ subscription, watch, retry }: Active): void {
  clearTimeout(watch);
  clearTimeout(retry);
  subscription?.close();
}

/** A type that this side does not provide gets one empty response (kds-wire 2.3). */
function nextDraft({ subscription, sentAt }: Active): Draft | null {
  if (subscription !== null) return subscription.next();
  return sentAt === 0 ? { entries: [], removed: [], bytes: 0, isPartial: false, upTo: 0 } : null;
}

function reasonsByName(refusals: readonly NackedResource[]): Map<string, string> {
  return new Map(refusals.map(({ name, mesh, reason }) => [`${name}.${mesh}`, reason]));
}
