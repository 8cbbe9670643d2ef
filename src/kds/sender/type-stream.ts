// One type on one stream to a peer: the response that waits for its answer, the answer, and the retries of refused resources.
// Invariants: one response waits at a time; no two responses of a type have one nonce. A zone's stream has one of these for each type:
// what types share is one object of the stream, and what most never need has no memory.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { encodeDeltaResponse, type DeltaRequest, type DeltaResponseParts } from '../../wire/kds-messages.ts';
import type { Draft, Item } from './response-draft.ts';
import { nackFaultOf, readNackDetails } from '../protocol/nack.ts';
import { MAX_BEHIND, type TypeProgress } from './open-senders.ts';
import { ProblemReports } from './problem-reports.ts';
import type { RateLimitedLogger } from '../../base/rate-limited-logger.ts';
import type { Subscription } from './subscription.ts';
import type { SyncObserver } from '../protocol/sync-events.ts';

const FIRST_RETRY_MS = 5_000;
const MAX_RETRY_MS = 300_000;
/** The number of characters of the message of a NACK that are kept. */
const MAX_REASON = 1_000;
/** The number of answers whose positions and times are kept. */
const MAX_ANSWERS = 64;

/** The stream that all types of a peer share. */
export type StreamOptions = {
  /** The name of the zone at either end: `node.id` in both directions. */
  readonly peer: string;
  readonly streamId: string;
  /** `control_plane.identifier`: `global`, or the zone's name (kds-wire 2.2). */
  readonly identifier: string;
  readonly maxMessageBytes: number;
  /** `encodeDeltaResponse`, or a wrapper that shares its results among streams. Callers must not change the result. */
  readonly encode?: (response: DeltaResponseParts) => Buffer;
  /** Ends the stream: the peer reconnects and resumes. */
  readonly fail: (error: Error) => void;
  readonly observe: SyncObserver;
  readonly log: Logger;
  readonly clock: Clock;
};

export type SharedByTypes = StreamOptions & {
  readonly warnings: RateLimitedLogger;
  /** It is called when refused resources of the type are due again. */
  readonly retry: (type: string) => void;
  /** It is called with what the peer has removed. */
  readonly lost: (items: readonly Item[]) => void;
};

export type TypeStreamOptions = {
  readonly type: string;
  /** It is null for a type that this side does not provide. */
  readonly subscription: Subscription | null;
  /** Resources that the peer keeps, because their mesh never existed here. */
  readonly held?: ReadonlyMap<string, string>;
  /** The meshes of which a full state must not prune anything. */
  readonly heldMeshes?: readonly string[];
  /** The peer said which versions it has, and reads that it is in step. It then gets no response that names nothing. */
  readonly saysInStep?: boolean;
  readonly nonces: Nonces;
  /**
   * The time of the oldest change that the peer has not confirmed on the subscription before this one; null if it has confirmed
   * all.
   */
  readonly behindSince: Date | null;
  /**
   * The time of the oldest response of the subscription before this one that the peer has not accepted, in milliseconds of the
   * clock; null without one.
   */
  readonly unacceptedSince?: number | null;
};

/**
 * Answers with their positions and times in milliseconds since the epoch. Most types have one, which takes no list. Lists of numbers: an object
 * for each would outlive a young collection.
 */
class Answers {
  #position = -1;
  #time = 0;
  /** The answers before the newest. */
  #earlier: { readonly positions: number[]; readonly times: number[] } | null = null;

  add(position: number, time: number): void {
    if (position <= this.#position) return;
    if (this.#position >= 0) this.#keep(this.#position, this.#time);
    this.#position = position;
    this.#time = time;
  }

  /** It is null before the first. */
  get lastAt(): Date | null {
    return this.#position < 0 ? null : new Date(this.#time);
  }

  /** The time of the oldest kept answer for the position or a later one. */
  firstAt(position: number): Date | null {
    const { positions, times } = this.#earlier ?? { positions: [], times: [] };
    const time = times[positions.findIndex((answered) => answered >= position)];
    if (time !== undefined) return new Date(time);
    return this.#position >= position ? this.lastAt : null;
  }

  #keep(position: number, time: number): void {
    const { positions, times } = (this.#earlier ??= { positions: [], times: [] });
    positions.push(position);
    times.push(time);
    if (positions.length < MAX_ANSWERS) return;
    positions.shift();
    times.shift();
  }
}

/**
 * The nonces of one type on one stream: positions of the log, so that peers in the same state get the same message. A repeated
 * position, as after a NACK or a new subscription, gets another nonce.
 */
export class Nonces {
  #last = -1;
  #repeats = 0;

  next(position: number): string {
    if (position <= this.#last) this.#repeats += 1;
    this.#last = position;
    return this.#repeats === 0 ? String(position) : `${String(position)}.${String(this.#repeats)}`;
  }
}

export class TypeStream {
  readonly subscription: Subscription | null;
  readonly nonces: Nonces;
  readonly #stream: SharedByTypes;
  readonly #type: string;
  readonly #reports: ProblemReports;
  readonly #saysInStep: boolean;
  /** The nonce of the response that waits for its answer; empty without one. */
  #nonce = '';
  /** These meshes are named until the full state has ended. */
  #heldMeshes: readonly string[] | undefined;
  #sentAt = 0;
  #wasSent = false;
  /**
   * The time of the oldest response that the peer has not accepted, in milliseconds of the clock; null when it has accepted all.
   */
  #unacceptedSince: number | null;
  /**
   * The time of the oldest change that the peer has not confirmed, and of the oldest that came after the pending response, in
   * milliseconds since the epoch.
   */
  #behindSince: number | null;
  #laterSince: number | null = null;
  readonly #answers = new Answers();
  #retryMs = FIRST_RETRY_MS;
  /** Cancels the retry of all refused resources, which are retried together. */
  #retry: (() => void) | undefined;

  constructor(
    stream: SharedByTypes,
    { type, subscription, held, heldMeshes, saysInStep = false, nonces, behindSince, unacceptedSince = null }: TypeStreamOptions,
  ) {
    this.subscription = subscription;
    this.nonces = nonces;
    this.#stream = stream;
    this.#type = type;
    this.#saysInStep = saysInStep;
    this.#heldMeshes = heldMeshes;
    this.#unacceptedSince = unacceptedSince;
    this.#behindSince = subscription === null ? null : (behindSince ?? stream.clock.now()).getTime();
    this.#reports = new ProblemReports(stream, type, held);
  }

  /** It is true while a response waits for its answer. */
  get isWaiting(): boolean {
    return this.#nonce !== '';
  }

  /** Whether `next` may have something to send or to note. */
  get hasMore(): boolean {
    return this.subscription?.hasMore === true;
  }

  /** The time of the response that waits for its answer, in milliseconds of the clock; null without one. */
  get waitsSince(): number | null {
    return this.isWaiting ? this.#sentAt : null;
  }

  /** Notes a change in the log of the type. */
  changed(): void {
    if (this.#behindSince === null) this.#behindSince = this.#stream.clock.now().getTime();
    else if (this.isWaiting) this.#laterSince ??= this.#stream.clock.now().getTime();
  }

  /** The time of the oldest change that the peer has not confirmed; null if it has confirmed all. */
  get behindSince(): Date | null {
    return this.#behindSince === null ? null : new Date(this.#behindSince);
  }

  /** The time that the next subscription of the type takes over. */
  get unacceptedSince(): number | null {
    return this.#unacceptedSince;
  }

  /**
   * The milliseconds since the oldest response that the peer has not accepted, 0 when it has accepted all; null before the first.
   */
  get unacceptedMs(): number | null {
    if (this.subscription === null || !this.#wasSent) return null;
    return this.#unacceptedSince === null ? 0 : this.#stream.clock.elapsed() - this.#unacceptedSince;
  }

  /** The time at which the peer last confirmed a position; null before it has. */
  get lastConfirmedAt(): Date | null {
    return this.#answers.lastAt;
  }

  /**
   * The time at which the peer confirmed a position. For a position before the kept answers this is the oldest of them: it is in
   * sync since then at the latest.
   */
  confirmedAt(position: number): Date | null {
    return this.#answers.firstAt(position);
  }

  /** The progress of the peer; null for a type that this side does not provide. */
  progress(): TypeProgress | null {
    if (this.subscription === null) return null;
    const { nacked, withheldCount: withheld } = this.subscription;
    const behind = this.subscription.behindBy(MAX_BEHIND);
    const since = behind === 0 ? null : this.behindSince;
    return { type: this.#type, behind, since, confirmedAt: this.lastConfirmedAt, refused: nacked.size, withheld };
  }

  /**
   * The next response, which then waits for its answer. Its message is null if it would name nothing and the peer reads types in step: it
   * counts as answered. Null when nothing is due, or nothing can be sent.
   */
  next(): { readonly message: Buffer | null; readonly draft: Draft } | null {
    if (this.isWaiting) return null;
    const { subscription } = this;
    const before = subscription?.acknowledged;
    const draft = subscription === null ? this.#emptyDraft() : subscription.next();
    const isInStep = this.#saysInStep && draft !== null && draft.entries.length + draft.removed.length === 0;
    if (isInStep) this.#acknowledgeNothing();
    if (subscription !== null) {
      this.#reports.refused(subscription);
      this.#reports.withheld(subscription);
      if (subscription.acknowledged !== before) this.#passed(subscription.acknowledged);
    }
    if (draft === null || isInStep) {
      this.#confirmed();
      return draft === null ? null : { message: null, draft };
    }
    const { identifier, maxMessageBytes, encode = encodeDeltaResponse, clock } = this.#stream;
    const { entries, removed, isPartial, isWithdrawal } = draft;
    const nonce = this.nonces.next(draft.upTo);
    const about = { typeUrl: this.#type, nonce, controlPlane: identifier };
    const response = { ...about, entries, removed, isPartial, isWithdrawal, heldMeshes: this.#heldMeshes };
    const message = draft.bytes > maxMessageBytes ? null : encode(response);
    if (message === null || message.length > maxMessageBytes) {
      // The peer would read a smaller response as the full state, and prune all other resources. The full state is tried again at
      // every change of the type.
      subscription?.withdraw();
      this.#reports.tooLarge(message?.length ?? draft.bytes, maxMessageBytes, entries.length);
      return null;
    }
    this.#reports.fits();
    if (!isPartial) this.#heldMeshes = undefined;
    this.#nonce = nonce;
    this.#sentAt = clock.elapsed();
    this.#wasSent = true;
    // The time of a response that was not accepted goes on with the next one.
    this.#unacceptedSince ??= this.#sentAt;
    return { message, draft };
  }

  /** Handles an ACK or a NACK. @returns false if no response waits for it, or this side does not provide the type */
  settle({ responseNonce, errorDetail }: DeltaRequest): boolean {
    if (this.#nonce !== responseNonce) return false;
    this.#nonce = '';
    const { subscription } = this;
    if (subscription === null) return false;
    const about = { peer: this.#stream.peer, streamId: this.#stream.streamId, type: this.#type };
    const { observe, clock } = this.#stream;
    const { again } = subscription;
    const named = again.length > 0 && { again };
    let lost: readonly Item[];
    if (errorDetail === null) {
      lost = subscription.acknowledge();
      if (subscription.nacked.size === 0) {
        this.#retryMs = FIRST_RETRY_MS;
        this.#unacceptedSince = null;
      }
      this.#reports.refused(subscription);
      observe({
        kind: 'acknowledged',
        ...about,
        position: subscription.acknowledged,
        ...named,
        seconds: (clock.elapsed() - this.#sentAt) / 1000,
      });
    } else {
      const { message, details } = errorDetail;
      const faults = readNackDetails(details);
      const reasons = new Map(faults.map(({ name, mesh, reason }) => [`${name}.${mesh}`, reason]));
      lost = subscription.reject(reasons, message.slice(0, MAX_REASON));
      this.#reports.refused(subscription);
      const fault = nackFaultOf(faults, message);
      observe({ kind: 'rejected', ...about, position: subscription.acknowledged, ...named, fault, message });
    }
    if (subscription.nacked.size > 0) this.#retryLater();
    this.#confirmed();
    if (lost.length > 0) this.#stream.lost(lost);
    return true;
  }

  /** A response without names would change nothing at the peer: it counts as answered. */
  #acknowledgeNothing(): void {
    this.subscription?.acknowledge();
    this.#unacceptedSince = null;
    this.#sentAt = this.#stream.clock.elapsed();
  }

  /** Notes the position that the peer has confirmed by now. */
  #confirmed(): void {
    const { subscription } = this;
    if (subscription === null) return;
    const { acknowledged, log, isSettled } = subscription;
    this.#answers.add(acknowledged, this.#stream.clock.now().getTime());
    if (isSettled && acknowledged >= log.position) this.#behindSince = null;
    else if (isSettled) this.#behindSince = this.#laterSince ?? this.#behindSince;
    if (isSettled) this.#laterSince = null;
  }

  /** Releases all slots. */
  close(): void {
    this.#nonce = '';
    this.#retry?.();
    this.subscription?.close();
  }

  #passed(position: number): void {
    const { peer, streamId, observe } = this.#stream;
    observe({ kind: 'passed', peer, streamId, type: this.#type, position });
  }

  /** A type that this side does not provide gets one empty response (kds-wire 2.3). */
  #emptyDraft(): Draft | null {
    if (this.#sentAt !== 0) return null;
    return { entries: [], removed: [], bytes: 0, isPartial: false, isWithdrawal: false, upTo: 0 };
  }

  #retryLater(): void {
    if (this.#retry !== undefined) return;
    this.#retry = this.#stream.clock.after(this.#retryMs, () => {
      this.#retry = undefined;
      this.subscription?.retry();
      this.#stream.retry(this.#type);
    });
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
  }
}
