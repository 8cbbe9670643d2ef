// The global end of KDS: a gRPC server whose two sync streams run the sender and the receiver for the zone that calls.
// zone-streams.ts decides who may open one.
import type { Duplex } from 'node:stream';
import { ServerCredentials, type ServerUnaryCall, type UntypedServiceImplementation, type sendUnaryData } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import { MeridianError } from '../../base/errors.ts';
import { TurnList } from '../../base/turn-list.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Logger } from '../../base/log.ts';
import { encodeHealthCheckResponse } from '../../wire/global-service-messages.ts';
import { carriesAllKinds, type AdminKind, type AdminStreams } from '../protocol/admin-streams.ts';
import { createOutbox, type Outbox } from '../protocol/bundles.ts';
import { ownFeatures, type Caller } from '../protocol/peer-metadata.ts';
import type { Changelog } from '../log/changelog.ts';
import { Connections, DEFAULT_CONNECTION_LIMITS, type ConnectionLimits } from '../../grpc/connections.ts';
import { GrpcServer } from '../../grpc/grpc-server.ts';
import { isOwnFailure, statusOf } from '../../grpc/status.ts';
import { RateLimitedLogger } from '../../grpc/rate-limited-logger.ts';
import { FairWork } from '../admission/fair-work.ts';
import { feature } from '../protocol/features.ts';
import { waitsForFullState } from '../admission/full-state-rate.ts';
import { InitialSyncLimiter } from '../admission/initial-sync-limiter.ts';
import type { OwnNode } from '../protocol/node.ts';
import { OpenSenders } from '../sender/open-senders.ts';
import type { SyncObserver } from '../protocol/sync-events.ts';
import { DEFAULT_QUOTAS, type ZoneQuotas } from '../admission/quotas.ts';
import { Receiver, type ReceiverOptions } from '../receiver/receiver.ts';
import { insightSink, type InsightSinkOptions } from '../insights/insight-sink.ts';
import { globalReceiveRules } from '../protocol/rules.ts';
import { Sender } from '../sender/sender.ts';
import { ReplaceableCredentials, type KdsServerTls } from './server-credentials.ts';
import { globalService, questionService, syncService } from '../protocol/services.ts';
import { consume, serve } from '../session.ts';
import { SharedMessages } from '../log/shared-messages.ts';
import { NO_HEALTH_POLICY, type HealthPolicy } from './stale-streams.ts';
import type { Stream } from './stream-life.ts';
import { admitAll, type AdmitZone, type ZoneRegistry, anyStore, type ZoneStores } from '../protocol/zone-access.ts';
import { ZoneEntrance, type UsedHeap } from '../admission/zone-entrance.ts';
import { answerNothing, ZoneQuestions, type AnswerZone } from './zone-questions.ts';
import { slowToRefuse } from './zone-refusals.ts';
import { ZoneStreams } from './zone-streams.ts';

/** Milliseconds between two pings of a zone. */
const PING_MS = 15_000;
/** Connections whose handshake and first call are awaited at the same time. */
const GREETINGS = 128;
/** Milliseconds between two steps of a drain. */
const DRAIN_STEP_MS = 100;

const STOPS = new MeridianError('unavailable', 'stream unavailable: this control plane stops');
const MOVED = new MeridianError(
  'unavailable',
  'this replica of global has more than its share of the zones: connect again, so that another replica serves the zone',
);

export type KdsServerOptions = {
  readonly host: string;
  readonly port: number;
  /** Null = plaintext. */
  readonly tls: KdsServerTls | null;
  /** Called for every RPC. Without it, every caller is admitted. */
  readonly admit?: AdmitZone;
  readonly maxMessageBytes: number;
  /** If left out, the defaults. */
  readonly quotas?: ZoneQuotas;
  /** If left out, the defaults. */
  readonly connections?: ConnectionLimits;
  /** Without it, missing health checks do not end a stream. */
  readonly health?: HealthPolicy;
  readonly node: OwnNode;
  readonly changelog: Changelog;
  readonly zones: ZoneRegistry;
  /** If left out, every store may speak for every zone. */
  readonly stores?: ZoneStores;
  readonly admin: AdminStreams;
  /** Answers the questions of zones. */
  readonly answerZone?: AnswerZone;
  readonly store: ReceiverOptions['store'];
  readonly fences?: ReceiverOptions['fences'];
  /** When insights of proxies are stored; at once if left out. */
  readonly insightTurns?: InsightSinkOptions['turns'];
  /** What is kept of the state of proxies; all if left out. */
  readonly proxyInsights?: InsightSinkOptions['insights'];
  readonly validate: ReceiverOptions['validate'];
  readonly observe: SyncObserver;
  /** Gets the open streams that send. */
  readonly senders?: OpenSenders;
  /** If left out, that of this process. */
  readonly usedHeap?: UsedHeap;
  readonly clock: Clock;
  readonly log: Logger;
};

export class KdsServer {
  readonly #options: KdsServerOptions;
  readonly #server: GrpcServer;
  readonly #initialSyncLimiter: InitialSyncLimiter;
  readonly #messages: SharedMessages;
  readonly #work = new FairWork();
  readonly #turns: TurnList;
  readonly #responses = new KeyedMutex();
  readonly #quotas: ZoneQuotas;
  readonly #delays: RateLimitedLogger;
  readonly #senders = new Map<Sender, string>();
  readonly #tls: ReplaceableCredentials | null;
  readonly #connections: Connections;
  readonly #streams: ZoneStreams;
  readonly #entrance: ZoneEntrance;
  readonly #questions: ZoneQuestions;
  readonly #closing = new AbortController();

  constructor(options: KdsServerOptions) {
    const { clock } = options;
    this.#options = options;
    this.#messages = new SharedMessages(clock);
    this.#turns = new TurnList(clock);
    this.#entrance = new ZoneEntrance(clock, options.usedHeap);
    this.#tls = options.tls === null ? null : new ReplaceableCredentials(options.tls);
    this.#quotas = options.quotas ?? DEFAULT_QUOTAS;
    this.#delays = new RateLimitedLogger(options.log, () => clock.elapsed());
    const { fullStates: atOnce, fullStateInterval: intervalMs } = this.#quotas;
    this.#initialSyncLimiter = new InitialSyncLimiter(clock, { atOnce, intervalMs });
    const { connections: limits = DEFAULT_CONNECTION_LIMITS, health = NO_HEALTH_POLICY } = options;
    const credentials = this.#tls ?? ServerCredentials.createInsecure();
    this.#server = new GrpcServer({ maxMessageBytes: options.maxMessageBytes, pingInterval: PING_MS, limits, credentials });
    this.#connections = new Connections({
      limits,
      peers: 'zone',
      section: 'multizone.global.kds.connections',
      greetings: GREETINGS,
      take: (socket) => this.#server.take(socket, this.#connections.hasWaited(socket)),
      log: options.log,
      clock,
    });
    const { zones, observe, log, admit = admitAll, stores = anyStore } = options;
    const gates = { connections: this.#connections, admit, zones, stores, quotas: this.#quotas, entrance: this.#entrance };
    this.#streams = new ZoneStreams({ ...gates, health, observe, clock, log });
    const sync: UntypedServiceImplementation = {
      globalToZoneSync: this.#streams.handler('globalToZone', (stream) => this.#send(stream)),
      zoneToGlobalSync: this.#streams.handler('zoneToGlobal', (stream) => this.#receive(stream)),
    };
    this.#server.addService(syncService, sync);
    this.#questions = new ZoneQuestions(options.answerZone ?? answerNothing);
    this.#server.addService(questionService, {
      ask: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
        this.#answerQuestion(call).then(
          (bytes) => answer(null, bytes),
          (error: unknown) => answer(statusOf(error)),
        );
      },
    });
    this.#server.addService(globalService, {
      streamXDSConfigs: this.#streams.handler('configDump', (stream) => this.#admin(stream, 'configDump')),
      streamStats: this.#streams.handler('stats', (stream) => this.#admin(stream, 'stats')),
      streamClusters: this.#streams.handler('clusters', (stream) => this.#admin(stream, 'clusters')),
      healthCheck: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => {
        this.#answerHealthCheck(call).then(
          () => answer(null, encodeHealthCheckResponse({ intervalMs: health.pollInterval })),
          (error: unknown) => answer(statusOf(error)),
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

  /** Sets another certificate for new connections. */
  replaceTls(material: KdsServerTls['material']): void {
    this.#tls?.replace(material);
  }

  /** The (zone, type) pairs with an incomplete state. */
  *behind(): Generator<{ zone: string; type: string }> {
    for (const [sender, zone] of this.#senders) for (const type of sender.behind()) yield { zone, type };
  }

  /** How many zones have a stream on which this process sends. */
  get zoneCount(): number {
    return this.#placed().size;
  }

  /** The zones that wait until they may connect, and the milliseconds of the longest wait. */
  get waiting(): ZoneEntrance['waiting'] {
    return this.#entrance.waiting;
  }

  /** Whether the zone has such a stream. */
  hasZone(zone: string): boolean {
    return [...this.#senders.values()].includes(zone);
  }

  /**
   * The zones that have their first state and have answered everything, those with the oldest streams first. Zones that are sent
   * everything again when they reconnect, as those of Kuma, come last.
   * @param minAgeMs the least age of their stream
   */
  movableZones(minAgeMs: number): string[] {
    const latest = this.#options.clock.elapsed() - minAgeMs;
    return [...this.#placed()]
      .filter(([, { isSettled, openedAt }]) => isSettled && openedAt <= latest)
      .toSorted(([, a], [, b]) => Number(b.resumes) - Number(a.resumes) || a.openedAt - b.openedAt)
      .map(([zone]) => zone);
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

  /** Zone → the newest of its senders, with the oldest of these first. */
  #placed(): Map<string, Sender> {
    const placed = new Map<string, Sender>();
    for (const [sender, zone] of this.#senders) {
      placed.delete(zone);
      placed.set(zone, sender);
    }
    return placed;
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

  async #answerHealthCheck(call: ServerUnaryCall<Buffer, Buffer>): Promise<void> {
    const { zone } = await this.#check(call, 'healthCheck', () => {
      // Send this first: a zone that gets an error must also learn that this is Meridian, so that it resumes.
      call.sendMetadata(ownFeatures());
    });
    this.#options.observe({ kind: 'healthCheck', peer: zone });
  }

  async #answerQuestion(call: ServerUnaryCall<Buffer, Buffer>): Promise<Buffer> {
    const { zone, features } = await this.#check(call, 'question');
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    const asker = { zone, hasHashedNames: features.includes(feature.hashSuffix) };
    return await this.#questions.answer(asker, call.request, AbortSignal.any([gone.signal, this.#closing.signal]));
  }

  /**
   * Checks the caller in the turn of the call.
   * @param begin called when the call has its turn
   * @throws MeridianError or StatusError for a caller that may open no stream; it is logged as the refusal of a call of this name
   */
  async #check(call: ServerUnaryCall<Buffer, Buffer>, name: string, begin = (): void => undefined): Promise<Caller> {
    const turn = this.#connections.turnOf(call.getPeer());
    call.once('cancelled', () => turn.leave());
    try {
      await turn.take();
      begin();
      const caller = await this.#streams.check(call.metadata);
      turn.giveBack();
      return caller;
    } catch (error) {
      if (isOwnFailure(error)) turn.giveBack();
      else turn.refuse();
      this.#streams.logRefusal(call.metadata, name, error);
      throw error;
    }
  }

  async #send({ call, zone, features, streamId, log, end }: Stream): Promise<void> {
    const stream = call as unknown as Duplex;
    const { changelog, zones, maxMessageBytes, observe } = this.#options;
    const { put: send, flush } = outboxOf(call, features);
    const sender = new Sender({
      peer: zone,
      streamId,
      identifier: 'global',
      changelog,
      initialSyncLimiter: this.#initialSyncLimiter,
      zones,
      maxMessageBytes,
      encode: (response) => this.#messages.encode(response),
      send,
      flush,
      turns: this.#turns,
      readsInStep: features.includes(feature.inStep),
      hasRoom: () => !stream.writableNeedDrain,
      fail: end,
      delayed: (waitMs) => {
        const reason = waitsForFullState(waitMs);
        observe({ kind: 'overQuota', peer: zone, quota: 'fullStates', reason });
        this.#delays.warn(zone, { zone, reason }, 'the full state of a zone waits');
      },
      answered: (isSettled) => (isSettled ? this.#entrance.settled(zone) : this.#entrance.progress(zone)),
      observe,
      log,
      clock: this.#options.clock,
    });
    this.#senders.set(sender, zone);
    const closed = this.#options.senders?.add(zone, sender);
    try {
      await serve(stream, sender, this.#work.of(zone));
    } finally {
      this.#senders.delete(sender);
      closed?.();
    }
  }

  async #admin({ call, zone, features }: Stream, kind: AdminKind): Promise<void> {
    await this.#options.admin.serve(zone, kind, call as unknown as Duplex, carriesAllKinds(kind, features));
  }

  async #receive({ call, zone, features, streamId, log, end }: Stream): Promise<void> {
    const { store, fences, node, maxMessageBytes, insightTurns: turns, proxyInsights: insights = 'all' } = this.#options;
    const { validate, observe, clock } = this.#options;
    const rules = globalReceiveRules(zone, { hashedNames: features.includes(feature.hashSuffix) });
    const resumes = features.includes(feature.meridian);
    const pace = this.#work.of(zone);
    const most = this.#quotas.rows;
    const receiver = new Receiver({
      zone,
      peer: zone,
      streamId,
      rules,
      store,
      fences,
      node,
      resume: resumes,
      remembersNode: features.includes(feature.inStep),
      maxMessageBytes,
      pace,
      sink: insightSink({ peer: zone, streamId, rules, pace, most, resumes, insights, turns, observe, clock }),
      quotas: this.#quotas,
      validate,
      send: outboxOf(call, features).send,
      fail: end,
      observe,
      log,
      clock,
    });
    await consume(call as unknown as Duplex, receiver, (task) => this.#responses.run(zone, () => slowToRefuse(clock, task)));
  }
}

function outboxOf(call: Stream['call'], features: readonly string[]): Outbox {
  return createOutbox(call, features.includes(feature.bundles));
}
