// The zone end of KDS: one connection for six RPCs. If one of them fails, the client closes the connection and dials again. No
// resource is sent twice, because both directions resume by versions.
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Metadata, credentials, status, type ChannelCredentials, type ClientDuplexStream } from '@grpc/grpc-js';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { encodeHealthCheckRequest, decodeHealthCheckResponse } from '../wire/global-service-messages.ts';
import { answerAdminRequests } from './admin-streams.ts';
import { STORE_ID_HEADER } from './peer-metadata.ts';
import type { Changelog } from './changelog.ts';
import { feature, zoneHeaderFeatures } from './features.ts';
import { InitialSyncLimiter } from './initial-sync-limiter.ts';
import type { OwnNode } from './node.ts';
import type { StreamKind, SyncObserver } from './sync-events.ts';
import type { Validate } from './incoming.ts';
import { Receiver, type Admission, type ReceiverOptions } from './receiver.ts';
import { zoneReceiveRules } from './rules.ts';
import { Sender } from './sender.ts';
import { globalService, syncService } from './services.ts';
import { consume, serve } from './session.ts';

/**
 * Milliseconds from a lost connection to the next attempt: at least, and below. The pause does not grow with the attempts: after
 * global is back, a policy waits only for this pause and a connection (engine 22).
 */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 800;
/** Kuma's period until the global answers with another (kds-wire 2.5). */
const HEALTH_CHECK_MS = 300_000;
/** A day; a timer of 25 days would end at once. */
const MAX_CHECK_MS = 86_400_000;
/** A call with a short deadline: without an answer the connection is unusable. */
const ANSWER_MS = 10_000;
/** What only a person can change is not tried again all the time. */
const FORBIDDEN_MS = 15_000;
/** A token may be put right, or a store accepted, at any moment: global is asked again after this. */
const REFUSED_MS = 3_000;
/** A file that cannot be used is looked at again after this. */
const FILE_MS = 500;

export type KdsClientTls = {
  /** PEM, null = the system's. */
  readonly rootCa: Buffer | null;
  readonly skipVerify: boolean;
  /** What this side shows, where global asks for a certificate. */
  readonly identity?: { readonly cert: Buffer; readonly key: Buffer } | null;
};

export type KdsClientOptions = {
  readonly zone: string;
  /** The id of the database from which this zone speaks: global admits no other under the name. */
  readonly storeId: string;
  /** `host:port`. */
  readonly address: string;
  /** Null = plaintext. A function is asked at each connection, so that files may change. */
  readonly tls: KdsClientTls | null | (() => Promise<KdsClientTls | null>);
  /** Value of the metadata `authorization`, asked for at each connection; null sends none. */
  readonly authorization?: () => Promise<string | null>;
  readonly maxMessageBytes: number;
  readonly node: OwnNode;
  readonly changelog: Changelog;
  readonly store: ReceiverOptions['store'];
  readonly fences?: ReceiverOptions['fences'];
  /** Called at each connection: checks global before the zone accepts its resources. */
  readonly admission: () => Promise<Admission | null>;
  readonly validate: Validate;
  readonly observe: SyncObserver;
  readonly log: Logger;
  /** Milliseconds before a failed health check is repeated: a global may know the zone by then. */
  readonly checkAgainMs?: number;
};

/** Keeps the zone connected until the signal. After a lost connection it dials again within 0.1 to 0.8 s (engine 22). */
export async function runKdsClient(options: KdsClientOptions, signal: AbortSignal): Promise<void> {
  let lastReason = '';
  while (!signal.aborted) {
    const { reason, isForbidden, waitMs } = await connectOnce(options, signal);
    if (signal.aborted) return;
    if (reason !== lastReason) {
      if (isForbidden) options.log.error({ address: options.address }, reason);
      else options.log.warn({ address: options.address, reason }, 'not connected to global; trying again');
    }
    lastReason = reason;
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * With these status codes no global has answered: none is reachable, or it refuses the caller. Any other code is an answer of a
 * global.
 */
const NO_ANSWER: ReadonlySet<status> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.UNAUTHENTICATED,
  status.FAILED_PRECONDITION,
]);
/** Global refuses the caller: its token is not valid, or its store is not the store of the zone. */
const REFUSALS: readonly unknown[] = [status.UNAUTHENTICATED, status.FAILED_PRECONDITION];

/** The result of a health check. */
type Health = {
  readonly isMeridian: boolean;
  /** Milliseconds until the next; 0 = global names none. */
  readonly intervalMs: number;
  /** Why global could not answer it, null if it could. */
  readonly failure: string | null;
};

type Ending = { readonly reason: string; readonly isForbidden: boolean; readonly waitMs: number };

function endingOf(error: unknown): Ending {
  const { code, details } = error as { code?: unknown; details?: unknown };
  const waitMs = code === 'config' ? FILE_MS : REFUSALS.includes(code) ? REFUSED_MS : code === 'forbidden' ? FORBIDDEN_MS : null;
  const reason = REFUSALS.includes(code) && typeof details === 'string' ? `global refuses: ${details}` : messageOf(error);
  return { reason, isForbidden: waitMs !== null, waitMs: waitMs ?? reconnectPauseMs() };
}

/** The pause is random, so that the zones of a global that came back do not dial all at once. @param random in [0, 1) */
export function reconnectPauseMs(random: () => number = Math.random): number {
  return MIN_PAUSE_MS + random() * (MAX_PAUSE_MS - MIN_PAUSE_MS);
}

/** What a connection is made with. Rejects with `config` when a file cannot be used. */
async function identityOf({
  tls,
  authorization,
}: KdsClientOptions): Promise<{ credentials: ChannelCredentials; authorization: string | null }> {
  const [known, value] = await Promise.all([typeof tls === 'function' ? tls() : tls, authorization?.() ?? null]);
  return { credentials: channelCredentials(known), authorization: value };
}

/** One connection from dialling to its end; resolves to why it ended. */
async function connectOnce(options: KdsClientOptions, signal: AbortSignal): Promise<Ending> {
  const identity = await identityOf(options).catch(endingOf);
  if ('reason' in identity) return identity;
  const client = new Client(options.address, identity.credentials, {
    'grpc.max_receive_message_length': options.maxMessageBytes,
    'grpc.max_send_message_length': options.maxMessageBytes,
    // Go peers punish pings more often than every 15 s.
    'grpc.keepalive_time_ms': 20_000,
    'grpc.keepalive_timeout_ms': 15_000,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.initial_reconnect_backoff_ms': 100,
    // A channel of its own, so that nothing of an earlier attempt lingers.
    'grpc.use_local_subchannel_pool': 1,
  });
  const ended = new AbortController();
  const both = AbortSignal.any([signal, ended.signal]);
  const connection = new Connection(options, client, both, identity.authorization);
  try {
    const health = await connection.healthCheck();
    const { isMeridian, failure } = health;
    options.log.info(
      { address: options.address, meridian: isMeridian, ...(failure !== null && { healthCheck: failure }) },
      'connected to global',
    );
    await Promise.race([
      connection.receive(isMeridian),
      connection.send(isMeridian),
      connection.keepChecking(health),
      connection.admin('configDump', 'streamXDSConfigs'),
      connection.admin('stats', 'streamStats'),
      connection.admin('clusters', 'streamClusters'),
      new Promise((resolve) => both.addEventListener('abort', resolve, { once: true })),
    ]);
    return endingOf(new Error('global ended a stream'));
  } catch (error) {
    return endingOf(error);
  } finally {
    ended.abort();
    connection.close();
    client.close();
  }
}

class Connection {
  readonly #options: KdsClientOptions;
  readonly #client: Client;
  readonly #signal: AbortSignal;
  readonly #calls = new Set<ClientDuplexStream<Buffer, Buffer>>();
  readonly #authorization: string | null;
  /** Resolves when the zone may send its resources to global (engine 14). */
  readonly #admitted = Promise.withResolvers<void>();

  constructor(options: KdsClientOptions, client: Client, signal: AbortSignal, authorization: string | null) {
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
   * @throws ServiceError of `NO_ANSWER`
   */
  async healthCheck(): Promise<Health> {
    const { path, requestSerialize, responseDeserialize } = globalService.healthCheck;
    return await new Promise((resolve, reject) => {
      let isMeridian = false;
      const deadline = Date.now() + ANSWER_MS;
      const call = this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        encodeHealthCheckRequest(),
        this.#headers(),
        { deadline },
        (error, bytes) => {
          if (error === null) {
            const intervalMs = bytes === undefined ? 0 : decodeHealthCheckResponse(bytes).intervalMs;
            resolve({ isMeridian, intervalMs, failure: null });
          } else if (error.code === status.UNIMPLEMENTED) resolve({ isMeridian: false, intervalMs: 0, failure: null });
          else if (NO_ANSWER.has(error.code)) reject(error);
          else resolve({ isMeridian, intervalMs: 0, failure: error.details });
        },
      );
      call.on('metadata', (metadata) => {
        isMeridian = metadata.get('features').some((value) => value.toString().split(/, ?/).includes(feature.meridian));
      });
    });
  }

  /** @throws when a global turns out to be Meridian after the connection began: the next connection resumes */
  async keepChecking(first: Health): Promise<void> {
    const { checkAgainMs = 10_000 } = this.#options;
    for (let last = first; ;) {
      const { failure, intervalMs } = last;
      const wait = failure !== null ? checkAgainMs : intervalMs > 0 ? intervalMs : HEALTH_CHECK_MS;
      await delay(Math.min(wait, MAX_CHECK_MS), undefined, { signal: this.#signal, ref: false });
      last = await this.healthCheck();
      if (!first.isMeridian && first.failure !== null && last.isMeridian)
        throw new Error('global is Meridian after all; reconnecting to resume');
    }
  }

  async receive(resume: boolean): Promise<void> {
    const { zone, store, fences, node, maxMessageBytes, validate, observe } = this.#options;
    await this.#open('globalToZone', syncService.globalToZoneSync.path, async (call, streamId, log) => {
      const rules = zoneReceiveRules();
      const admission = this.#admit(await this.#options.admission());
      const send = (message: Buffer): void => void call.write(message);
      const now = (): number => performance.now();
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
          admission,
          maxMessageBytes,
          validate,
          send,
          fail: (error) => call.destroy(error),
          observe,
          log,
          now,
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
    const { zone, changelog, maxMessageBytes, observe } = this.#options;
    await this.#open('zoneToGlobal', syncService.zoneToGlobalSync.path, async (call, streamId, log) => {
      log.debug({ meridian: isMeridian }, 'waiting for the requests of global');
      const sender = new Sender({
        peer: zone,
        streamId,
        identifier: zone,
        changelog,
        initialSyncLimiter: new InitialSyncLimiter(),
        zones: null,
        maxMessageBytes,
        send: (message) => call.write(message),
        hasRoom: () => !call.writableNeedDrain,
        fail: (error) => call.destroy(error),
        observe,
        log,
        now: () => performance.now(),
      });
      await serve(call, sender);
    });
  }

  /** Unimplemented disables an admin stream and nothing else (kds-wire 2.1): its promise then stays open. */
  async admin(kind: StreamKind, name: 'streamXDSConfigs' | 'streamStats' | 'streamClusters'): Promise<void> {
    await this.#admitted.promise;
    try {
      await this.#open(kind, globalService[name].path, async (call) => answerAdminRequests(call));
    } catch (error) {
      if ((error as { code?: unknown }).code !== status.UNIMPLEMENTED) throw error;
      await new Promise((resolve) => this.#signal.addEventListener('abort', resolve, { once: true }));
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

  /** The same for all six RPCs; each feature is a header line of its own (kds-wire 2.1). */
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

function channelCredentials(tls: KdsClientTls | null): ChannelCredentials {
  if (tls === null) return credentials.createInsecure();
  const { rootCa, skipVerify, identity = null } = tls;
  return credentials.createSsl(rootCa, identity?.key ?? null, identity?.cert ?? null, { rejectUnauthorized: !skipVerify });
}
