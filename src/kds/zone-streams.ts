// The streams of zones to global: who may open one, how many and how often, and with which status it ends.
// Invariant: a zone is who its `client-id` says (and, with tokens, who its token says), never what a payload claims.
import { randomUUID } from 'node:crypto';
import { status, type Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Connections } from '../grpc/connections.ts';
import { Openings } from '../grpc/openings.ts';
import { callerOf, ownFeatures, type Caller } from './peer-metadata.ts';
import type { ZoneQuotas } from './quotas.ts';
import { RateLimitedLogger } from '../grpc/rate-limited-logger.ts';
import { canceled, exhausted, isOwnFailure, StatusError, statusOf } from '../grpc/status.ts';
import { StaleStreams, type HealthPolicy } from './stale-streams.ts';
import { idOf, OpenStreams, opensTooOften, tooManyStreams } from './stream-limits.ts';
import type { StreamKind, SyncObserver } from './sync-events.ts';
import type { AdmitZone, ZoneRegistry, ZoneStores } from './zone-access.ts';
import type { ZoneEntrance } from './zone-entrance.ts';
import { foreignStore, missingName, noZone } from './zone-refusals.ts';

type Call = ServerDuplexStream<Buffer, Buffer>;

/** The largest number of characters of a caller's name in the log. */
const MAX_NAME = 100;

/** The delay of the refusal of a zone over its quota, in milliseconds. It bounds the cost of a zone that retries at once. */
const REFUSAL_MS = 1_000;

/** A stream that is open. */
export type Stream = Caller & {
  readonly kind: StreamKind;
  readonly call: Call;
  readonly streamId: string;
  readonly log: Logger;
  /** Ends it with the status of the error, which is also the reason that is logged; the first counts. */
  readonly end: (error: unknown) => void;
};

export type ZoneStreamsOptions = {
  readonly connections: Connections;
  readonly admit: AdmitZone;
  readonly zones: ZoneRegistry;
  readonly stores: ZoneStores;
  readonly quotas: Pick<ZoneQuotas, 'streams'>;
  readonly entrance: ZoneEntrance;
  readonly health: HealthPolicy;
  readonly observe: SyncObserver;
  readonly clock: Clock;
  readonly log: Logger;
};

export class ZoneStreams {
  readonly #options: ZoneStreamsOptions;
  readonly #streams = new Set<Stream>();
  /** The admitted streams among them. */
  readonly #open = new OpenStreams();
  readonly #openings: Openings;
  readonly #refusals: RateLimitedLogger;
  readonly #stale: StaleStreams;
  readonly #stopWatching: readonly (() => void)[];
  /** Why no more streams are admitted; null while they are. */
  #closing: MeridianError | null = null;

  constructor(options: ZoneStreamsOptions) {
    this.#options = options;
    const { zones, stores, health, clock, log } = options;
    this.#refusals = new RateLimitedLogger(log, () => clock.elapsed());
    this.#openings = new Openings(() => clock.elapsed());
    this.#stale = new StaleStreams(health, this.#streams, clock);
    this.#stopWatching = [
      zones.onGone((zone) => this.#endZone(zone)),
      stores.onAccepted((zone, storeId, reason) => this.#endOtherStores(zone, storeId, reason)),
    ];
  }

  /** One handler for all streams: it identifies the caller, reports the stream, and ends it. */
  handler(kind: StreamKind, work: (stream: Stream) => Promise<void>): (call: Call) => void {
    const { connections, admit, observe } = this.#options;
    return (call) => {
      const streamId = randomUUID();
      const peerAddress = call.getPeer();
      let caller: Caller;
      try {
        caller = callerOf(call.metadata);
      } catch (error) {
        connections.refused(peerAddress);
        this.logRefusal(call.metadata, kind, error);
        call.emit('error', missingName(kind, error));
        return;
      }
      if (this.#closing !== null) {
        call.emit('error', statusOf(this.#closing));
        return;
      }
      const { zone: peer, authorization } = caller;
      const log = this.#options.log.child({ zone: peer, stream: kind });
      let ended: unknown = null;
      const turn = Promise.withResolvers<undefined>();
      call.once('cancelled', () => turn.resolve(undefined));
      const end = (error: unknown): void => {
        if (ended !== null) return;
        ended = error;
        turn.resolve(undefined);
        if (!call.destroyed && !call.cancelled) call.emit('error', statusOf(error));
      };
      const stream: Stream = { ...caller, kind, call, streamId, log, end };
      this.#streams.add(stream);
      call.on('error', () => undefined);
      let isOpen = false;
      let gaveUp = false;
      const run = async (): Promise<string | null> => {
        let unwatch = (): void => undefined;
        let leave = (): void => undefined;
        try {
          await this.#requireRoom(stream);
          await connections.requireTurn(peerAddress);
          const pass = await admit(authorization, peer);
          if (!pass.ok) throw this.#turnedAway(peer, pass.reason);
          unwatch = pass.watch((reason) => end(new MeridianError('forbidden', reason)));
          await this.#enter(caller).catch((error: unknown) => {
            throw noZone(error);
          });
          await this.#waitToOpen(stream);
          const isOver = (): boolean => ended !== null || call.cancelled;
          if (!isOver()) {
            leave = this.#options.entrance.enter(peer, () => turn.resolve(undefined));
            await turn.promise;
            gaveUp = ended === null && call.cancelled;
          }
          if (isOver()) return messageOf(ended ?? canceled('the zone ended the stream'));
          // Check again: several streams may have passed the first check together. No wait is between this check and the count.
          if (!this.#hasRoom(stream)) await this.#requireRoom(stream);
          if (this.#closing !== null) throw this.#closing;
          isOpen = true;
          this.#open.add(stream);
          connections.trust(peerAddress);
          this.#stale.opened(stream);
          const authorized = authorization.length === 1;
          observe({ kind: 'opened', peer, streamId, stream: kind, authorized, tokenExpiresAt: pass.expiresAt });
          call.sendMetadata(ownFeatures());
          log.info('stream opened');
          await work(stream);
          call.end();
          return null;
        } catch (error) {
          end(error);
          return messageOf(ended);
        } finally {
          leave();
          unwatch();
        }
      };
      void run().then((error) => {
        this.#streams.delete(stream);
        this.#open.delete(stream);
        if (!isOpen) {
          // A zone that did not wait for its turn was not refused, nor one that met a failure of this side.
          if (!gaveUp && !isOwnFailure(ended ?? canceled(''))) connections.refused(peerAddress);
          this.logRefusal(call.metadata, kind, error);
          return;
        }
        observe({ kind: 'closed', peer, streamId, stream: kind, error });
        log.info({ ...(error !== null && { reason: error }) }, 'stream closed');
      });
    };
  }

  /** Rejects with the StatusError RESOURCE_EXHAUSTED, after a short delay, for a stream over the limit of its zone and kind. */
  async #requireRoom(stream: Stream): Promise<void> {
    const { streams } = this.#options.quotas;
    if (!this.#hasRoom(stream)) await this.#refuseStream(stream, tooManyStreams(stream.kind, streams));
  }

  #hasRoom(stream: Stream): boolean {
    return this.#open.count(stream) < this.#options.quotas.streams;
  }

  /** Resolves when the zone has not opened too many streams of the kind lately. Rejects as `#requireRoom`. */
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
    if (!pass.ok) throw this.#turnedAway(caller.zone, pass.reason);
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
    for (const stream of this.#streams) if (zones.has(stream.zone)) stream.end(error);
  }

  /** Ends every stream with the status of this error. */
  close(error: MeridianError): void {
    for (const stop of this.#stopWatching) stop();
    this.#stale.close();
    for (const stream of this.#streams) stream.end(error);
  }

  /**
   * The resources of the zone were deleted with its Zone row. The zone reconnects, which creates the row, and sends the missing
   * resources.
   */
  #endZone(zone: string): void {
    const gone = new MeridianError('unavailable', `the Zone ${JSON.stringify(zone)} was removed; connect again to rejoin`);
    for (const stream of this.#streams) if (stream.zone === zone) stream.end(gone);
  }

  #endOtherStores(zone: string, storeId: string, reason: string): void {
    for (const stream of this.#streams) if (stream.zone === zone && stream.storeId !== storeId) stream.end(foreignStore(reason));
  }

  /** @throws StatusError for a store that does not speak for the zone, MeridianError `invalid` for an invalid zone name */
  async #enter({ zone, storeId }: Caller): Promise<void> {
    await this.#options.zones.ensure(zone);
    const refusal = await this.#options.stores.admit(zone, storeId);
    if (refusal === null) return;
    this.#turnedAway(zone, refusal);
    throw foreignStore(refusal);
  }

  /** Reports the refusal of a known zone: a caller without a valid token may send any name. */
  #turnedAway(zone: string, reason: string): MeridianError {
    const { zones, observe } = this.#options;
    if (zones.has(zone)) observe({ kind: 'turnedAway', peer: zone, reason });
    return new MeridianError('forbidden', reason);
  }
}

/** Refuses a response over a quota after a short delay. The next response of the zone waits for that time. */
export async function slowToRefuse(clock: Clock, task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    if (error instanceof StatusError && error.code === status.RESOURCE_EXHAUSTED)
      await clock.sleep(REFUSAL_MS, undefined, { ref: false });
    throw error;
  }
}
