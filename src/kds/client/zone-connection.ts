// One connection of a zone to its global: the health check, the two sync streams, and the admin streams. The zone sends nothing until
// its admission of global is granted.
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { Metadata, status, type Client, type ClientDuplexStream, type MethodDefinition, type ServiceError } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';
import { MeridianError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { decodeHealthCheckResponse, encodeHealthCheckRequest } from '../../wire/global-service-messages.ts';
import { adminKinds, answerAdminRequests, ONE_FOR_ALL, type AdminKind, type AnswerAdmin } from '../protocol/admin-streams.ts';
import { createOutbox } from '../protocol/bundles.ts';
import type { Changelog } from '../log/changelog.ts';
import { feature, zoneHeaderFeatures } from '../protocol/features.ts';
import { featuresIn, STORE_ID_HEADER } from '../protocol/peer-metadata.ts';
import type { GlobalLink } from './global-link.ts';
import type { Validate } from '../receiver/incoming.ts';
import { InitialSyncLimiter } from '../admission/initial-sync-limiter.ts';
import type { OwnNode } from '../protocol/node.ts';
import type { OpenSenders } from '../sender/open-senders.ts';
import { Receiver, type Admission, type ReceiverOptions } from '../receiver/receiver.ts';
import { zoneReceiveRules } from '../protocol/rules.ts';
import { Sender } from '../sender/sender.ts';
import { globalService, questionService, syncService } from '../protocol/services.ts';
import { consume, serve } from '../session.ts';
import type { StreamKind, SyncObserver } from '../protocol/sync-events.ts';

/** Kuma's period until the global answers with another (kds-wire 2.5). */
const HEALTH_CHECK_MS = 300_000;
/** The limit of a check is a day: a timer of 25 days would end at once. */
const MAX_CHECK_MS = 86_400_000;
/** A call with a short deadline: without an answer the connection is unusable. */
const ANSWER_MS = 30_000;
/** The status codes of an unreachable global, or of one that refuses the caller. Any other code is an answer of a global. */
const NO_ANSWER: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.UNAUTHENTICATED,
  status.FAILED_PRECONDITION,
]);

export type ConnectionOptions = {
  readonly zone: string;
  /** The id of this zone's database. Global admits no other under the name of the zone. */
  readonly storeId: string;
  readonly maxMessageBytes: number;
  readonly node: OwnNode;
  readonly changelog: Changelog;
  readonly store: ReceiverOptions['store'];
  readonly fences?: ReceiverOptions['fences'];
  /** Checks global at each connection, before the zone accepts its resources. */
  readonly admission: () => Promise<Admission | null>;
  readonly validate: Validate;
  readonly observe: SyncObserver;
  /** Gets the open stream that sends. */
  readonly senders?: OpenSenders;
  /** Gets this connection, for questions to global. */
  readonly link?: GlobalLink;
  /** Asks the proxies of the zone. */
  readonly answerAdmin: AnswerAdmin;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds before a failed health check is repeated. A global may know the zone by then. */
  readonly checkAgainMs?: number;
};

/** The result of a health check. */
type Health = {
  readonly isMeridian: boolean;
  /** The milliseconds until the next check; 0 if global gives none. */
  readonly intervalMs: number;
  /** The reason why global could not answer; null if it could. */
  readonly failure: string | null;
};

const ADMIN_METHODS = { configDump: 'streamXDSConfigs', stats: 'streamStats', clusters: 'streamClusters' } as const;

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #client: Client;
  readonly #signal: AbortSignal;
  readonly #calls = new Set<ClientDuplexStream<Buffer, Buffer>>();
  readonly #authorization: string | null;
  /** Resolves when the zone may send its resources to global (engine 14). */
  readonly #admitted = Promise.withResolvers<void>();
  /** The features that global named with its answer to the health check. */
  #globalFeatures: readonly string[] = [];

  constructor(options: ConnectionOptions, client: Client, signal: AbortSignal, authorization: string | null) {
    this.#options = options;
    this.#authorization = authorization;
    this.#client = client;
    this.#signal = signal;
  }

  close(): void {
    for (const call of this.#calls) call.cancel();
  }

  /**
   * Asks for the period, and learns from the headers of the answer whether the peer is Meridian. A Kuma global may answer with an
   * error until the zone has synced once. The zone treats such a global as a Kuma global.
   * @throws ServiceError of `NO_ANSWER`, or of a connection that ends meanwhile
   */
  async healthCheck(): Promise<Health> {
    let isMeridian = false;
    const learn = (metadata: Metadata): void => {
      this.#globalFeatures = featuresIn(metadata);
      isMeridian = this.#globalFeatures.includes(feature.meridian);
    };
    try {
      const bytes = await this.#call(globalService.healthCheck, encodeHealthCheckRequest(), ANSWER_MS, this.#signal, learn);
      return { isMeridian, intervalMs: decodeHealthCheckResponse(bytes).intervalMs, failure: null };
    } catch (error) {
      const { code, details } = error as Partial<ServiceError>;
      if (code === status.UNIMPLEMENTED) return { isMeridian: false, intervalMs: 0, failure: null };
      if (code === undefined || details === undefined || NO_ANSWER.has(code) || this.#signal.aborted) throw error;
      return { isMeridian, intervalMs: 0, failure: details };
    }
  }

  /** Resolves to null if global knows no questions. @throws MeridianError `unavailable` when global does not answer in time */
  async ask(question: Buffer, limitMs: number, signal: AbortSignal): Promise<Buffer | null> {
    const either = AbortSignal.any([signal, this.#signal]);
    try {
      return await this.#call(questionService.ask, question, limitMs, either);
    } catch (error) {
      const failure = error as ServiceError;
      if (failure.code === status.UNIMPLEMENTED) return null;
      throw noAnswer(failure, limitMs);
    }
  }

  /** Makes one call, which the signal cancels. @param learn is called with the headers of the answer @throws ServiceError */
  async #call(
    { path, requestSerialize, responseDeserialize }: MethodDefinition<Buffer, Buffer>,
    request: Buffer,
    limitMs: number,
    signal: AbortSignal,
    learn: (metadata: Metadata) => void = () => undefined,
  ): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const deadline = this.#options.clock.now().getTime() + limitMs;
    const call = this.#client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      this.#headers(),
      { deadline },
      (error, bytes = Buffer.alloc(0)) => (error === null ? resolve(bytes) : reject(error)),
    );
    call.on('metadata', learn);
    const cancel = (): void => call.cancel();
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
    return await promise.finally(() => signal.removeEventListener('abort', cancel));
  }

  /** @throws when a global turns out to be Meridian after the connection began: the next connection resumes */
  async keepChecking(first: Health): Promise<void> {
    const { clock, checkAgainMs = 10_000 } = this.#options;
    for (let last = first; ;) {
      const { failure, intervalMs } = last;
      const wait = failure !== null ? checkAgainMs : intervalMs > 0 ? intervalMs : HEALTH_CHECK_MS;
      await clock.sleep(Math.min(wait, MAX_CHECK_MS), this.#signal, { ref: false });
      this.#signal.throwIfAborted();
      last = await this.healthCheck();
      if (!first.isMeridian && first.failure !== null && last.isMeridian)
        throw new Error('global is Meridian; reconnecting to resume');
    }
  }

  /**
   * @param resume global is Meridian: the zone says what it has, and gets the difference
   * @param learned called with what the header of the stream says. Where that differs from a health check that failed, the stream ends
   * before a response is stored: a full state of a Meridian global would prune Meshes that the zone keeps (decision 70).
   */
  async receive(resume: boolean, learned?: (isMeridian: boolean) => void): Promise<void> {
    const { zone, store, fences, node, maxMessageBytes, validate, observe, clock } = this.#options;
    await this.#open('globalToZone', syncService.globalToZoneSync.path, async (call, streamId, log) => {
      if (learned !== undefined)
        call.once('metadata', (metadata: Metadata) => {
          const isMeridian = featuresIn(metadata).includes(feature.meridian);
          learned(isMeridian);
          if (isMeridian !== resume) call.destroy(new Error(`global is ${isMeridian ? '' : 'not '}Meridian; reconnecting`));
        });
      const rules = zoneReceiveRules();
      const admission = this.#admit(await this.#options.admission());
      await consume(
        call,
        new Receiver({
          zone,
          peer: 'global',
          streamId,
          rules,
          store,
          fences,
          node,
          resume,
          remembersNode: this.#globalFeatures.includes(feature.inStep),
          admission,
          maxMessageBytes,
          validate,
          send: createOutbox(call, this.#globalFeatures.includes(feature.bundles)).send,
          fail: (error) => call.destroy(error),
          observe,
          log,
          clock,
        }),
      );
    });
  }

  /** Lets the zone send its resources when the admission is granted; without an admission at once. */
  #admit(admission: Admission | null): Admission | null {
    const { resolve } = this.#admitted;
    if (admission === null) {
      resolve();
      return null;
    }
    const check: Admission['check'] = async (resources) => {
      await admission.check(resources);
      resolve();
    };
    return { ...admission, check };
  }

  async send(isMeridian: boolean): Promise<void> {
    await this.#admitted.promise;
    const { zone, changelog, maxMessageBytes, observe, clock } = this.#options;
    await this.#open('zoneToGlobal', syncService.zoneToGlobalSync.path, async (call, streamId, log) => {
      log.debug({ meridian: isMeridian }, 'waiting for the requests of global');
      const { put, flush } = createOutbox(call, this.#globalFeatures.includes(feature.bundles));
      const sender = new Sender({
        peer: zone,
        streamId,
        identifier: zone,
        changelog,
        initialSyncLimiter: new InitialSyncLimiter(clock),
        zones: null,
        maxMessageBytes,
        send: put,
        flush,
        readsInStep: this.#globalFeatures.includes(feature.inStep),
        hasRoom: () => !call.writableNeedDrain,
        fail: (error) => call.destroy(error),
        observe,
        log,
        clock,
      });
      const closed = this.#options.senders?.add(zone, sender);
      await serve(call, sender).finally(() => closed?.());
    });
  }

  /** Serves one admin stream for all kinds, or one for each kind if global knows no other. */
  async admin(): Promise<void> {
    const kinds = this.#globalFeatures.includes(feature.oneAdminStream) ? [ONE_FOR_ALL] : adminKinds;
    await Promise.race(kinds.map((kind) => this.#answerAdmin(kind)));
  }

  /** Unimplemented disables an admin stream and nothing else (kds-wire 2.1): its promise then stays open. */
  async #answerAdmin(kind: AdminKind): Promise<void> {
    await this.#admitted.promise;
    try {
      await this.#open(kind, globalService[ADMIN_METHODS[kind]].path, async (call) =>
        answerAdminRequests(call, kind, this.#options.answerAdmin),
      );
    } catch (error) {
      if ((error as { code?: unknown }).code !== status.UNIMPLEMENTED) throw error;
      await new Promise((resolve) => this.#signal.addEventListener('abort', resolve));
    }
  }

  async #open(
    stream: StreamKind,
    path: string,
    work: (call: Duplex, streamId: string, log: Logger) => Promise<void>,
  ): Promise<void> {
    const { observe } = this.#options;
    const streamId = randomUUID();
    const { requestSerialize, responseDeserialize } = syncService.globalToZoneSync;
    const call = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, this.#headers());
    this.#calls.add(call);
    // A stream may break before its reader starts. The reader still gets the error.
    call.on('error', () => undefined);
    observe({ kind: 'opened', peer: 'global', streamId, stream, authorized: this.#authorization !== null });
    let reason: string | null = null;
    try {
      await work(call as unknown as Duplex, streamId, this.#options.log.child({ stream }));
    } catch (error) {
      reason = messageOf(error);
      throw error;
    } finally {
      this.#calls.delete(call);
      call.cancel();
      observe({ kind: 'closed', peer: 'global', streamId, stream, error: reason });
    }
  }

  /** The headers of all RPCs; each feature is a header line of its own (kds-wire 2.1). */
  #headers(): Metadata {
    const metadata = new Metadata();
    metadata.set('client-id', this.#options.zone);
    metadata.set(STORE_ID_HEADER, this.#options.storeId);
    metadata.set('kds-version', 'v3');
    metadata.set('zone-version', 'v3');
    metadata.set('version', this.#options.node.version);
    for (const name of zoneHeaderFeatures) metadata.add('features', name);
    if (this.#authorization !== null) metadata.set('authorization', this.#authorization);
    return metadata;
  }
}

function noAnswer({ code, details }: ServiceError, limitMs: number): MeridianError {
  const late = `global did not answer within ${String(limitMs / 1_000)} s`;
  return new MeridianError('unavailable', code === status.DEADLINE_EXCEEDED ? late : `global did not answer: ${details}`);
}
