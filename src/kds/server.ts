// The global end of KDS: a gRPC server whose two sync streams run the sender and the receiver for the zone that calls.
// Invariant: a zone is who its `client-id` says (and, with tokens, who its token says), never what a payload claims.
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import {
  Server,
  ServerCredentials,
  status,
  type Metadata,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type UntypedServiceImplementation,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { MeridianError, messageOf } from '../base/errors.ts';
import { KeyedMutex } from '../base/keyed-mutex.ts';
import type { Logger } from '../base/log.ts';
import { encodeHealthCheckResponse } from '../wire/global-service-messages.ts';
import type { AdminKind, AdminStreams } from './admin-streams.ts';
import { callerOf, ownFeatures, type Caller } from './peer-metadata.ts';
import type { Changelog } from './changelog.ts';
import { Connections, DEFAULT_CONNECTION_LIMITS, type ConnectionLimits } from './connections.ts';
import { FairWork } from './fair-work.ts';
import { feature } from './features.ts';
import { InitialSyncLimiter } from './initial-sync-limiter.ts';
import type { OwnNode } from './node.ts';
import type { StreamKind, SyncObserver } from './sync-events.ts';
import { OpenStreams, Openings, opensTooOften, tooManyStreams } from './stream-limits.ts';
import { DEFAULT_QUOTAS, type ZoneQuotas } from './quotas.ts';
import { Receiver, type ReceiverOptions } from './receiver.ts';
import { globalReceiveRules } from './rules.ts';
import { Sender } from './sender.ts';
import { ReplaceableCredentials, type KdsServerTls } from './server-credentials.ts';
import { globalService, syncService } from './services.ts';
import { consume, serve } from './session.ts';
import { SharedMessages } from './shared-messages.ts';
import { RateLimitedLogger } from './rate-limited-logger.ts';
import { NO_HEALTH_POLICY, StaleStreams, type HealthPolicy } from './stale-streams.ts';
import { canceled, exhausted, foreignStore, missingName, noZone, StatusError, statusOf } from './status.ts';
import { admitAll, type AdmitZone, type ZoneRegistry, anyStore, type ZoneStores } from './zone-access.ts';

type Call = ServerDuplexStream<Buffer, Buffer>;

/** The largest number of characters of a caller's name in the log. */
const MAX_NAME = 100;

/** A zone over its quota is refused after this many milliseconds: one that tries again at once costs little. */
const REFUSAL_MS = 1_000;

/** A stream that is open. */
type Stream = Caller & {
  readonly kind: StreamKind;
  readonly call: Call;
  readonly streamId: string;
  readonly log: Logger;
  /** Ends it with the status of the error, which is also the reason that is logged; the first counts. */
  readonly end: (error: unknown) => void;
};

export type KdsServerOptions = {
  readonly host: string;
  readonly port: number;
  /** Null = plaintext. */
  readonly tls: KdsServerTls | null;
  /** Called for every RPC. Without it, every caller is admitted. */
  readonly admit?: AdmitZone;
  readonly maxMessageBytes: number;
  /** Left out: the defaults. */
  readonly quotas?: ZoneQuotas;
  /** Left out: the defaults. */
  readonly connections?: ConnectionLimits;
  /** Without it, missing health checks do not end a stream. */
  readonly health?: HealthPolicy;
  readonly node: OwnNode;
  readonly changelog: Changelog;
  readonly zones: ZoneRegistry;
  /** Left out, every store may speak for every zone. */
  readonly stores?: ZoneStores;
  readonly admin: AdminStreams;
  readonly store: ReceiverOptions['store'];
  readonly fences?: ReceiverOptions['fences'];
  readonly validate: ReceiverOptions['validate'];
  readonly observe: SyncObserver;
  readonly log: Logger;
};

export class KdsServer {
  readonly #options: KdsServerOptions;
  readonly #server: Server;
  readonly #initialSyncLimiter = new InitialSyncLimiter();
  readonly #messages = new SharedMessages();
  readonly #work = new FairWork();
  readonly #responses = new KeyedMutex();
  readonly #quotas: ZoneQuotas;
  readonly #senders = new Map<Sender, string>();
  readonly #streams = new Set<Stream>();
  /** Those of them that were let in. */
  readonly #open = new OpenStreams();
  readonly #openings = new Openings(() => performance.now());
  readonly #stopWatching: readonly (() => void)[];
  readonly #tls: ReplaceableCredentials | null;
  readonly #connections: Connections;
  readonly #admit: AdmitZone;
  readonly #stores: ZoneStores;
  readonly #refusals: RateLimitedLogger;
  readonly #stale: StaleStreams;

  constructor(options: KdsServerOptions) {
    this.#options = options;
    this.#tls = options.tls === null ? null : new ReplaceableCredentials(options.tls);
    this.#admit = options.admit ?? admitAll;
    this.#quotas = options.quotas ?? DEFAULT_QUOTAS;
    this.#stores = options.stores ?? anyStore;
    this.#refusals = new RateLimitedLogger(options.log, () => performance.now());
    const { health = NO_HEALTH_POLICY } = options;
    this.#stale = new StaleStreams(health, this.#streams, () => performance.now());
    const { connections: limits = DEFAULT_CONNECTION_LIMITS } = options;
    this.#server = new Server({
      'grpc.max_receive_message_length': options.maxMessageBytes,
      'grpc.max_send_message_length': options.maxMessageBytes,
      'grpc.keepalive_time_ms': 15_000,
      'grpc.keepalive_timeout_ms': 15_000,
      'grpc.max_concurrent_streams': limits.streams,
      'grpc.max_connection_idle_ms': limits.idleTimeout,
    });
    const injector = this.#server.createConnectionInjector(this.#tls ?? ServerCredentials.createInsecure());
    const take = (socket: Socket): void => injector.injectConnection(socket);
    this.#connections = new Connections(limits, take, options.log, () => performance.now());
    this.#stopWatching = [
      options.zones.onGone((zone) => this.#endZone(zone)),
      this.#stores.onAccepted((zone, storeId, reason) => this.#endOtherStores(zone, storeId, reason)),
    ];
    const sync: UntypedServiceImplementation = {
      globalToZoneSync: this.#stream('globalToZone', (stream) => this.#send(stream)),
      zoneToGlobalSync: this.#stream('zoneToGlobal', (stream) => this.#receive(stream)),
    };
    this.#server.addService(syncService, sync);
    this.#server.addService(globalService, {
      streamXDSConfigs: this.#stream('configDump', (stream) => this.#admin(stream, 'configDump')),
      streamStats: this.#stream('stats', (stream) => this.#admin(stream, 'stats')),
      streamClusters: this.#stream('clusters', (stream) => this.#admin(stream, 'clusters')),
      healthCheck: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
        this.#answerHealthCheck(call).then(
          () => answer(null, encodeHealthCheckResponse({ intervalMs: health.pollInterval })),
          (error: unknown) => {
            this.#connections.refused(call.getPeer());
            this.#tellRefused(call.metadata, 'healthCheck', error);
            answer(statusOf(error));
          },
        );
      },
    });
  }

  /** Binds; resolves to the port in use. Rejects with code `config` when the address cannot be bound. */
  async listen(): Promise<number> {
    const { host, port } = this.#options;
    return await this.#connections.listen(host, port).catch((cause: unknown) => {
      const text = `multizone.global.kds.grpcPort: cannot listen on ${host}:${String(port)}; free it or choose another port`;
      throw new MeridianError('config', text, { cause });
    });
  }

  /** Another certificate, for connections from now on. */
  replaceTls(material: KdsServerTls['material']): void {
    this.#tls?.replace(material);
  }

  /** Zone and type pairs where the zone has not all that it should have. */
  *behind(): Generator<{ zone: string; type: string }> {
    for (const [sender, zone] of this.#senders) for (const type of sender.behind()) yield { zone, type };
  }

  /** Ends every stream with Unavailable, so that zones try another replica, and closes the port. */
  async close(): Promise<void> {
    for (const stop of this.#stopWatching) stop();
    this.#stale.close();
    this.#connections.close();
    const stops = new MeridianError('unavailable', 'stream unavailable: this control plane stops');
    for (const stream of this.#streams) stream.end(stops);
    await new Promise<void>((resolve) => {
      const force = setTimeout(() => {
        this.#server.forceShutdown();
        // gRPC may lose the end of a session that its peer was closing, and then never calls back.
        resolve();
      }, 1_000);
      this.#server.tryShutdown(() => {
        clearTimeout(force);
        resolve();
      });
    });
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

  /** @throws StatusError for a store that does not speak for the zone, MeridianError `invalid` for no name of a zone */
  async #enter({ zone, storeId }: Caller): Promise<void> {
    await this.#options.zones.ensure(zone);
    const refusal = await this.#stores.admit(zone, storeId);
    if (refusal !== null) throw foreignStore(refusal);
  }

  /** One handler for all streams: it identifies the caller, reports the stream, and ends it. */
  #stream(kind: StreamKind, work: (stream: Stream) => Promise<void>): (call: Call) => void {
    return (call) => {
      const streamId = randomUUID();
      const peerAddress = call.getPeer();
      let caller: Caller;
      try {
        caller = callerOf(call.metadata);
      } catch (error) {
        this.#connections.refused(peerAddress);
        this.#tellRefused(call.metadata, kind, error);
        call.emit('error', missingName(kind, error));
        return;
      }
      const { zone: peer, authorization } = caller;
      const { observe } = this.#options;
      const log = this.#options.log.child({ zone: peer, stream: kind });
      let ended: unknown = null;
      const end = (error: unknown): void => {
        if (ended !== null) return;
        ended = error;
        if (!call.destroyed && !call.cancelled) call.emit('error', statusOf(error));
      };
      const stream: Stream = { ...caller, kind, call, streamId, log, end };
      this.#streams.add(stream);
      call.on('error', () => undefined);
      let isOpen = false;
      const run = async (): Promise<string | null> => {
        let unwatch = (): void => undefined;
        try {
          await this.#requireRoom(stream);
          await this.#connections.requireTurn(peerAddress);
          const pass = await this.#admit(authorization, peer);
          if (!pass.ok) throw new MeridianError('forbidden', pass.reason);
          unwatch = pass.watch((reason) => end(new MeridianError('forbidden', reason)));
          await this.#enter(caller).catch((error: unknown) => {
            throw noZone(error);
          });
          await this.#waitToOpen(stream);
          if (ended !== null || call.cancelled) return messageOf(ended ?? canceled('the zone ended the stream'));
          // Once more: many may have asked at once.
          await this.#requireRoom(stream);
          isOpen = true;
          this.#open.add(stream);
          this.#connections.trust(peerAddress);
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
          unwatch();
        }
      };
      void run().then((error) => {
        this.#streams.delete(stream);
        this.#open.delete(stream);
        if (!isOpen) {
          this.#connections.refused(peerAddress);
          this.#tellRefused(call.metadata, kind, error);
          return;
        }
        observe({ kind: 'closed', peer, streamId, stream: kind, error });
        log.info({ ...(error !== null && { reason: error }) }, 'stream closed');
      });
    };
  }

  /** Rejects with the StatusError RESOURCE_EXHAUSTED, a moment later, for a stream that is one too many of its zone and kind. */
  async #requireRoom(stream: Stream): Promise<void> {
    const { streams } = this.#quotas;
    if (this.#open.count(stream) >= streams) await this.#refuseStream(stream, tooManyStreams(stream.kind, streams));
  }

  /** Resolves when the zone has not opened too many streams of the kind lately. Rejects as `#requireRoom`. */
  async #waitToOpen(stream: Stream): Promise<void> {
    const wait = this.#openings.take(stream);
    if (wait === null) await this.#refuseStream(stream, opensTooOften(stream.kind));
    else if (wait > 0) await delay(wait, undefined, { ref: false });
  }

  async #refuseStream({ zone }: Stream, reason: string): Promise<never> {
    this.#options.observe({ kind: 'overQuota', peer: zone, quota: 'streams', reason });
    await delay(REFUSAL_MS, undefined, { ref: false });
    throw exhausted(reason);
  }

  /** Once a minute for each name and kind of refusal: a refused caller retries. */
  #tellRefused(metadata: Metadata, stream: string, error: unknown): void {
    const zone = metadata.get('client-id')[0]?.toString().slice(0, MAX_NAME);
    const about = { ...(zone !== undefined && { zone }), stream, reason: statusOf(error).details };
    this.#refusals.warn(`${stream} ${zone ?? ''}`, about, 'a zone was not let in');
  }

  async #answerHealthCheck(call: ServerUnaryCall<Buffer, Buffer>): Promise<void> {
    await this.#connections.requireTurn(call.getPeer());
    // First of all: a zone that is answered with an error must know all the same that this is Meridian, and resume.
    call.sendMetadata(ownFeatures());
    const caller = callerOf(call.metadata);
    const { zone, authorization } = caller;
    const pass = await this.#admit(authorization, zone);
    if (!pass.ok) throw new MeridianError('forbidden', pass.reason);
    // Nothing is kept of a name that cannot be a zone.
    await this.#enter(caller);
    this.#stale.heard(zone);
    this.#options.observe({ kind: 'healthCheck', peer: zone });
  }

  async #send({ call, zone, streamId, log, end }: Stream): Promise<void> {
    const stream = call as unknown as Duplex;
    const { changelog, zones, maxMessageBytes, observe } = this.#options;
    const sender = new Sender({
      peer: zone,
      streamId,
      identifier: 'global',
      changelog,
      initialSyncLimiter: this.#initialSyncLimiter,
      zones,
      maxMessageBytes,
      encode: (response) => this.#messages.encode(response),
      send: (message) => stream.write(message),
      hasRoom: () => !stream.writableNeedDrain,
      fail: end,
      observe,
      log,
      now: () => performance.now(),
    });
    this.#senders.set(sender, zone);
    try {
      await serve(stream, sender, this.#work.of(zone));
    } finally {
      this.#senders.delete(sender);
    }
  }

  async #admin({ call, zone }: Stream, kind: AdminKind): Promise<void> {
    await this.#options.admin.serve(zone, kind, call as unknown as Duplex);
  }

  async #receive({ call, zone, features, streamId, log, end }: Stream): Promise<void> {
    const { store, fences, node, maxMessageBytes, validate, observe } = this.#options;
    const receiver = new Receiver({
      zone,
      peer: zone,
      streamId,
      rules: globalReceiveRules(zone, { hashedNames: features.includes(feature.hashSuffix) }),
      store,
      fences,
      node,
      resume: features.includes(feature.meridian),
      maxMessageBytes,
      pace: this.#work.of(zone),
      quotas: this.#quotas,
      validate,
      send: (message) => call.write(message),
      fail: end,
      observe,
      log,
      now: () => performance.now(),
    });
    await consume(call as unknown as Duplex, receiver, (task) => this.#responses.run(zone, () => slowToRefuse(task)));
  }
}

/** Refuses a response over a quota after a short delay. The next response of the zone waits for that time. */
async function slowToRefuse(task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    if (error instanceof StatusError && error.code === status.RESOURCE_EXHAUSTED)
      await delay(REFUSAL_MS, undefined, { ref: false });
    throw error;
  }
}
