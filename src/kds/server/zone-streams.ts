// The streams of zones to global: who may open one, how many and how often, and with which status it ends.
// Invariant: a zone is who its `client-id` says (and, with tokens, who its token says), never what a payload claims.
import type { Metadata } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import { adminKinds, carriesAllKinds } from '../protocol/admin-streams.ts';
import { MeridianError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Connections } from '../../grpc/connections.ts';
import { StreamOpenRate } from '../../grpc/stream-open-rate.ts';
import { callerOf, ownFeatures, type Caller } from '../protocol/peer-metadata.ts';
import type { ZoneQuotas } from '../admission/quotas.ts';
import { RateLimitedLogger } from '../../base/rate-limited-logger.ts';
import { exhausted, statusOf } from '../../grpc/status.ts';
import { StaleStreams, type HealthPolicy } from './stale-streams.ts';
import { StreamLife, type Call, type Stream } from './stream-life.ts';
import { idOf, OpenStreams, opensTooOften, tooManyStreams } from '../admission/stream-limits.ts';
import { StreamsByZone } from './streams-by-zone.ts';
import type { StreamKind, SyncObserver } from '../protocol/sync-events.ts';
import type { AdmitZone, ZoneRegistry, ZoneStores } from '../protocol/zone-access.ts';
import type { AdmissionQueue } from '../admission/admission-queue.ts';
import { foreignStore, missingName, noZone, REFUSAL_MS } from './zone-refusals.ts';

/** The largest number of characters of a caller's name in the log. */
const MAX_NAME = 100;

export type ZoneStreamsOptions = {
  readonly connections: Pick<Connections, 'permitOf'>;
  readonly admit: AdmitZone;
  readonly zones: ZoneRegistry;
  readonly stores: ZoneStores;
  readonly quotas: Pick<ZoneQuotas, 'streams'>;
  readonly entrance: AdmissionQueue;
  readonly health: HealthPolicy;
  readonly observe: SyncObserver;
  readonly clock: Clock;
  readonly log: Logger;
};

export class ZoneStreams {
  readonly #options: ZoneStreamsOptions;
  readonly #streams = new StreamsByZone<Stream>();
  /** The open streams among them. */
  readonly #admitted = new OpenStreams();
  readonly #openings: StreamOpenRate;
  readonly #refusals: RateLimitedLogger;
  readonly #stale: StaleStreams;
  readonly #stopWatching: readonly (() => void)[];
  /** The error with which new streams are refused; null while they are admitted. */
  #closing: MeridianError | null = null;

  constructor(options: ZoneStreamsOptions) {
    this.#options = options;
    const { zones, stores, health, clock, log } = options;
    this.#refusals = new RateLimitedLogger(log, () => clock.elapsed());
    this.#openings = new StreamOpenRate(() => clock.elapsed());
    this.#stale = new StaleStreams(health, this.#streams, clock);
    this.#stopWatching = [
      zones.onGone((zone) => this.#endZone(zone)),
      stores.onAccepted((zone, storeId, reason) => this.#endOtherStores(zone, storeId, reason)),
    ];
  }

  /** The handler of the streams of a kind. @param work resolves when the stream may end */
  handler(kind: StreamKind, work: (stream: Stream) => Promise<void>): (call: Call) => void {
    return (call) => {
      const life = this.#begin(kind, call);
      if (life === null) return;
      this.#streams.add(life.stream);
      void this.#live(life, work).then((error) => this.#ended(life, error));
    };
  }

  /** Runs a stream to its end. @returns why the stream ended; null when its work is done */
  async #live(life: StreamLife, work: (stream: Stream) => Promise<void>): Promise<string | null> {
    try {
      const expiresAt = await this.#admit(life);
      await this.#waitToOpen(life.stream);
      // Many zones may have the address, and each of them may wait for minutes.
      life.permit.giveBack();
      await this.#waitToEnter(life);
      if (life.isOver) return life.reason;
      await this.#open(life, expiresAt);
      await work(life.stream);
      life.stream.call.end();
      return null;
    } catch (error) {
      life.stream.end(error);
      return life.reason;
    } finally {
      life.giveBack();
    }
  }

  /** Returns null for a call that is refused at once. */
  #begin(kind: StreamKind, call: Call): StreamLife | null {
    const { connections, log } = this.#options;
    const permit = connections.permitOf(call.getPeer());
    let caller: Caller;
    try {
      caller = callerOf(call.metadata);
    } catch (error) {
      permit.refuse();
      this.logRefusal(call.metadata, kind, error);
      call.emit('error', missingName(kind, error));
      return null;
    }
    if (this.#closing !== null) {
      call.emit('error', statusOf(this.#closing));
      return null;
    }
    return new StreamLife(kind, call, caller, permit, log.child({ zone: caller.zone, stream: kind }));
  }

  /**
   * Checks the caller.
   * @returns the expiry of its token; null without one
   * @throws MeridianError or StatusError for a caller that may open no stream
   */
  async #admit(life: StreamLife): Promise<Date | null> {
    const { stream } = life;
    // Refuse it without a permit, so that other zones of the address do not wait behind it.
    if (!this.#hasRoom(stream) && this.#admitted.hasCallerOf(stream)) await this.#requireRoom(stream);
    await life.permit.take();
    const pass = await this.#options.admit(stream.authorization, stream.zone);
    if (!pass.ok) throw this.#turnAway(stream.zone, pass.reason);
    life.holds(pass.watch((reason) => stream.end(new MeridianError('forbidden', reason))));
    await this.#requireRoom(stream);
    await this.#enter(stream).catch((error: unknown) => {
      throw noZone(error);
    });
    return pass.expiresAt;
  }

  /** Waits until this process has time for the zone. */
  async #waitToEnter(life: StreamLife): Promise<void> {
    if (life.isOver) return;
    life.holds(this.#options.entrance.enter(life.stream.zone, () => life.enter()));
    await life.awaitAdmission();
  }

  /** Counts the stream and announces this side. Between the last check and the count is no wait: several may have passed the first check. */
  async #open(life: StreamLife, tokenExpiresAt: Date | null): Promise<void> {
    const { stream } = life;
    const { zone: peer, streamId, kind, call, authorization, log } = stream;
    if (!this.#hasRoom(stream)) await this.#requireRoom(stream);
    if (this.#closing !== null) throw this.#closing;
    life.isOpen = true;
    this.#admitted.add(stream);
    life.permit.admit();
    this.#stale.opened(stream);
    this.#options.observe({
      kind: 'opened',
      peer,
      streamId,
      stream: kind,
      alsoFor: alsoFor(stream),
      authorized: authorization.length === 1,
      tokenExpiresAt,
    });
    call.sendMetadata(ownFeatures());
    log.info('stream opened');
  }

  #ended(life: StreamLife, error: string | null): void {
    const { stream, permit, isOpen, wasRefused } = life;
    this.#streams.delete(stream);
    this.#admitted.delete(stream);
    if (wasRefused) permit.refuse();
    else permit.giveBack();
    if (!isOpen) {
      this.logRefusal(stream.call.metadata, stream.kind, error);
      return;
    }
    const { zone: peer, streamId, kind, log } = stream;
    this.#options.observe({ kind: 'closed', peer, streamId, stream: kind, error });
    log.info({ ...(error !== null && { reason: error }) }, 'stream closed');
  }

  /**
   * Rejects with the StatusError RESOURCE_EXHAUSTED, after a short delay, for a stream over the limit of its zone and kind, and reports it:
   * the caller must be known to be the zone.
   */
  async #requireRoom(stream: Stream): Promise<void> {
    const { streams } = this.#options.quotas;
    if (!this.#hasRoom(stream)) await this.#refuseStream(stream, tooManyStreams(stream.kind, streams));
  }

  #hasRoom(stream: Stream): boolean {
    return this.#admitted.count(stream) < this.#options.quotas.streams;
  }

  /** Resolves when the zone has not opened too many streams of the kind lately. Rejects as `#requireRoom` does. */
  async #waitToOpen(stream: Stream): Promise<void> {
    const wait = this.#openings.take(idOf(stream));
    if (wait === null) await this.#refuseStream(stream, opensTooOften(stream.kind));
    else if (wait > 0) await this.#options.clock.sleep(wait, undefined, { ref: false });
  }

  async #refuseStream({ zone }: Stream, reason: string): Promise<never> {
    this.#options.observe({ kind: 'overQuota', peer: zone, quota: 'streams', reason });
    await this.#options.clock.sleep(REFUSAL_MS, undefined, { ref: false });
    throw exhausted(reason);
  }

  /** Logs once a minute for each name and kind of refusal: a refused caller retries. */
  logRefusal(metadata: Metadata, stream: string, error: unknown): void {
    const zone = metadata.get('client-id')[0]?.toString().slice(0, MAX_NAME);
    const about = { ...(zone !== undefined && { zone }), stream, reason: statusOf(error).details };
    this.#refusals.warn(`${stream} ${zone ?? ''}`, about, 'a zone was refused');
  }

  /**
   * Admits the caller of a health check.
   * @throws MeridianError or StatusError for a caller that may open no stream
   */
  async check(metadata: Metadata): Promise<Caller> {
    const caller = callerOf(metadata);
    const pass = await this.#options.admit(caller.authorization, caller.zone);
    if (!pass.ok) throw this.#turnAway(caller.zone, pass.reason);
    // An invalid zone name must take no memory.
    await this.#enter(caller);
    this.#stale.seen(caller.zone);
    return caller;
  }

  /** Refuses new streams with the status of this error. Open streams stay. */
  refuse(error: MeridianError): void {
    this.#closing = error;
  }

  /** Ends every stream of these zones with the status of this error. */
  endZones(zones: ReadonlySet<string>, error: MeridianError): void {
    for (const zone of zones) for (const stream of this.#streams.of(zone)) stream.end(error);
  }

  /** Ends every stream with the status of this error. */
  close(error: MeridianError): void {
    for (const stop of this.#stopWatching) stop();
    this.#stale.close();
    for (const stream of this.#streams.all()) stream.end(error);
  }

  /**
   * The resources of the zone were deleted with its Zone row. The zone reconnects, which creates the row, and sends the missing
   * resources.
   */
  #endZone(zone: string): void {
    const gone = new MeridianError('unavailable', `the Zone ${JSON.stringify(zone)} was removed; connect again to rejoin`);
    for (const stream of this.#streams.of(zone)) stream.end(gone);
  }

  #endOtherStores(zone: string, storeId: string, reason: string): void {
    for (const stream of this.#streams.of(zone)) if (stream.storeId !== storeId) stream.end(foreignStore(reason));
  }

  /** @throws StatusError for a store that does not speak for the zone, MeridianError `invalid` for an invalid zone name */
  async #enter({ zone, storeId }: Caller): Promise<void> {
    await this.#options.zones.ensure(zone);
    const refusal = await this.#options.stores.admit(zone, storeId);
    if (refusal === null) return;
    this.#turnAway(zone, refusal);
    throw foreignStore(refusal);
  }

  /** Reports the refusal of a known zone: a caller without a valid token may send any name. */
  #turnAway(zone: string, reason: string): MeridianError {
    const { zones, observe } = this.#options;
    if (zones.has(zone)) observe({ kind: 'turnedAway', peer: zone, reason });
    return new MeridianError('forbidden', reason);
  }
}

/** The kinds of admin streams that a zone does not open, because it opens one for all. */
function alsoFor({ kind, features }: Stream): readonly StreamKind[] {
  return carriesAllKinds(kind, features) ? adminKinds.filter((other) => other !== kind) : [];
}
