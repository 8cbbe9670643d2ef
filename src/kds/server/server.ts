// The global end of KDS: a gRPC server with the streams and calls of zones. zone-streams.ts decides who may open a stream, sync-streams.ts
// runs the sender and the receiver, zone-calls.ts answers the other calls.
import type { Duplex } from 'node:stream';
import { ServerCredentials } from '@grpc/grpc-js';
import { MeridianError } from '../../base/errors.ts';
import { Connections, DEFAULT_CONNECTION_LIMITS, type ConnectionLimits } from '../../grpc/connections.ts';
import { GrpcServer } from '../../grpc/grpc-server.ts';
import { DEFAULT_QUOTAS, type ZoneQuotas } from '../admission/quotas.ts';
import { AdmissionQueue, type UsedHeap } from '../admission/admission-queue.ts';
import { carriesAllKinds, type AdminKind, type AdminStreams } from '../protocol/admin-streams.ts';
import { globalService, questionService, syncService } from '../protocol/services.ts';
import { admitAll, anyStore, type AdmitZone, type ZoneStores } from '../protocol/zone-access.ts';
import { ReplaceableCredentials, type KdsServerTls } from './server-credentials.ts';
import { NO_HEALTH_POLICY, type HealthPolicy } from './stale-streams.ts';
import type { Stream } from './stream-life.ts';
import { SyncStreams, type SyncStreamsOptions } from './sync-streams.ts';
import { ZoneCalls } from './zone-calls.ts';
import type { AnswerZone } from './zone-questions.ts';
import { ZoneStreams } from './zone-streams.ts';

/** The interval of the pings to a zone, in milliseconds. */
const PING_MS = 15_000;
/** The number of connections whose handshake and first call are awaited at the same time. */
const GREETINGS = 128;
/** The interval of the steps of a drain, in milliseconds. */
const DRAIN_STEP_MS = 100;

const STOPS = new MeridianError('unavailable', 'stream unavailable: this control plane stops');
const MOVED = new MeridianError(
  'unavailable',
  'this replica of global has more than its share of the zones: connect again, so that another replica serves the zone',
);

export type KdsServerOptions = Omit<SyncStreamsOptions, 'quotas' | 'entrance'> & {
  readonly host: string;
  readonly port: number;
  /** Null means plaintext. */
  readonly tls: KdsServerTls | null;
  /** It is called for every RPC. Without it, every caller is admitted. */
  readonly admit?: AdmitZone;
  /** Without them, the defaults apply. */
  readonly quotas?: ZoneQuotas;
  /** Without them, the defaults apply. */
  readonly connections?: ConnectionLimits;
  /** Without it, missing health checks do not end a stream. */
  readonly health?: HealthPolicy;
  /** Without it, every store may speak for every zone. */
  readonly stores?: ZoneStores;
  readonly admin: AdminStreams;
  /** Answers the questions of zones. */
  readonly answerZone?: AnswerZone;
  /** The default is the heap of this process. */
  readonly usedHeap?: UsedHeap;
};

export class KdsServer {
  readonly #options: KdsServerOptions;
  readonly #server: GrpcServer;
  readonly #tls: ReplaceableCredentials | null;
  readonly #connections: Connections;
  readonly #entrance: AdmissionQueue;
  readonly #streams: ZoneStreams;
  readonly #sync: SyncStreams;
  readonly #closing = new AbortController();

  constructor(options: KdsServerOptions) {
    const { clock, connections: limits = DEFAULT_CONNECTION_LIMITS, health = NO_HEALTH_POLICY } = options;
    const { admit = admitAll, stores = anyStore, quotas = DEFAULT_QUOTAS } = options;
    this.#options = options;
    this.#tls = options.tls === null ? null : new ReplaceableCredentials(options.tls);
    const credentials = this.#tls ?? ServerCredentials.createInsecure();
    this.#server = new GrpcServer({ maxMessageBytes: options.maxMessageBytes, pingInterval: PING_MS, limits, credentials });
    const connections = this.#connect(limits);
    this.#connections = connections;
    const entrance = new AdmissionQueue(clock, options.usedHeap);
    this.#entrance = entrance;
    this.#streams = new ZoneStreams({ ...options, connections, admit, stores, quotas, entrance, health });
    this.#sync = new SyncStreams({ ...options, quotas, entrance });
    this.#addServices(health.pollInterval);
  }

  #connect(limits: ConnectionLimits): Connections {
    const { clock, log } = this.#options;
    return new Connections({
      limits,
      peers: 'zone',
      section: 'multizone.global.kds.connections',
      greetings: GREETINGS,
      take: (socket) => this.#server.take(socket, this.#connections.hasWaited(socket)),
      log,
      clock,
    });
  }

  #addServices(healthInterval: number): void {
    const streams = this.#streams;
    const { answerZone, observe } = this.#options;
    const called = { connections: this.#connections, streams, answerZone, healthInterval, observe };
    const calls = new ZoneCalls({ ...called, closing: this.#closing.signal });
    this.#server.addService(syncService, {
      globalToZoneSync: streams.handler('globalToZone', (stream) => this.#sync.send(stream)),
      zoneToGlobalSync: streams.handler('zoneToGlobal', (stream) => this.#sync.receive(stream)),
    });
    this.#server.addService(questionService, { ask: calls.ask });
    this.#server.addService(globalService, {
      streamXDSConfigs: streams.handler('configDump', (stream) => this.#admin(stream, 'configDump')),
      streamStats: streams.handler('stats', (stream) => this.#admin(stream, 'stats')),
      streamClusters: streams.handler('clusters', (stream) => this.#admin(stream, 'clusters')),
      healthCheck: calls.healthCheck,
    });
  }

  /** Binds the port. Resolves to the port in use. Rejects with code `config` when the address cannot be bound. */
  async listen(): Promise<number> {
    const { host, port } = this.#options;
    return await this.#connections.listen(host, port).catch((cause: unknown) => {
      const text = `multizone.global.kds.grpcPort: cannot listen on ${host}:${String(port)}; free it or choose another port`;
      throw new MeridianError('config', text, { cause });
    });
  }

  /** Sets another certificate for new connections. */
  replaceTls(material: KdsServerTls['material']): void {
    this.#tls?.replace(material);
  }

  /** The (zone, type) pairs with an incomplete state. */
  behind(): Iterable<{ zone: string; type: string }> {
    return this.#sync.senders.behind();
  }

  /** The number of zones that have a stream on which this process sends. */
  get zoneCount(): number {
    return this.#sync.senders.zoneCount;
  }

  /** The zones that wait until they may connect, and the milliseconds of the longest wait. */
  get waiting(): AdmissionQueue['waiting'] {
    return this.#entrance.waiting;
  }

  /** Whether the zone has such a stream. */
  hasZone(zone: string): boolean {
    return this.#sync.senders.has(zone);
  }

  /**
   * The zones that have their first state and have answered everything, those with the oldest streams first. Zones that are sent
   * everything again when they reconnect, as those of Kuma, come last.
   * @param minAgeMs the least age of their stream
   */
  movableZones(minAgeMs: number): string[] {
    return this.#sync.senders.movable(this.#options.clock.elapsed() - minAgeMs);
  }

  /** Ends all streams of these zones with Unavailable: they connect again. */
  moveZones(zones: ReadonlySet<string>): void {
    this.#streams.endZones(zones, MOVED);
  }

  /**
   * Takes no more connections and streams, and ends the streams of all zones one after the other.
   * @param overMs the time that this takes at most; a zone whose first state is on its way may stay for all of it
   */
  async drain(overMs: number): Promise<void> {
    const { clock } = this.#options;
    this.#connections.close();
    this.#streams.refuse(STOPS);
    const until = clock.elapsed() + overMs;
    for (;;) {
      const left = until - clock.elapsed();
      const open = this.zoneCount;
      if (open === 0 || left <= 0) return;
      this.#streams.endZones(new Set(this.movableZones(0).slice(0, Math.ceil((open * DRAIN_STEP_MS) / left))), STOPS);
      await clock.sleep(Math.min(DRAIN_STEP_MS, left));
    }
  }

  /** Ends every stream with Unavailable, so that zones try another replica, and closes the port. */
  async close(): Promise<void> {
    this.#connections.close();
    this.#closing.abort();
    this.#streams.close(STOPS);
    await this.#server.close(this.#options.clock);
    // gRPC counts a session as closed that its peer began to close, and leaves its connection open.
    this.#connections.endAll();
  }

  async #admin({ call, zone, features }: Stream, kind: AdminKind): Promise<void> {
    await this.#options.admin.serve(zone, kind, call as unknown as Duplex, carriesAllKinds(kind, features));
  }
}
