// The zone end of KDS: dials global, and dials again when one of the six RPCs of the connection fails. No resource is sent twice,
// because both directions resume by versions.
import { Client, credentials, status, type ChannelCredentials, type ChannelOptions } from '@grpc/grpc-js';
import { connectionReason } from './connection-reason.ts';
import type { AskGlobal } from './global-link.ts';
import { isSilent } from './silent-port.ts';
import { Connection, type ConnectionOptions } from './zone-connection.ts';

/**
 * The range of milliseconds from a lost connection to the next attempt. The pause does not grow with the attempts: after global is
 * back, a policy waits only for this pause and a connection (engine 22).
 */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 800;
/**
 * While global does not answer in time, or answers the health check with an error, the pause doubles this many times: each attempt costs
 * global a handshake.
 */
export const MAX_LATE = 3;
/** A connection that lasted this many milliseconds has served, whatever its health check said. */
const SERVED_MS = 60_000;
/** A failure that only an operator can fix is retried less often. */
const FORBIDDEN_MS = 15_000;
/** The pause after a refusal, in milliseconds: a person may correct the token or accept the store at any time. */
const REFUSED_MS = 3_000;
/** The pause until an unusable file is read again, in milliseconds. */
const FILE_MS = 500;

export type KdsClientTls = {
  /** The certificates are PEM; null means those of the system. */
  readonly rootCa: Buffer | null;
  readonly skipVerify: boolean;
  /** The client certificate, if global asks for one. */
  readonly identity?: { readonly cert: Buffer; readonly key: Buffer } | null;
};

export type KdsClientOptions = ConnectionOptions & {
  /** The address is `host:port`. */
  readonly address: string;
  /** Null means plaintext. A function is asked at each connection, so that files may change. */
  readonly tls: KdsClientTls | null | (() => Promise<KdsClientTls | null>);
  /** The value of the metadata `authorization`, asked for at each connection; null sends none. */
  readonly authorization?: () => Promise<string | null>;
};

/**
 * Keeps the zone connected until the signal. After a lost connection it dials again within 0.1 to 0.8 s (engine 22); after a cut of the
 * network within three seconds of its end.
 */
export async function runKdsClient(options: KdsClientOptions, signal: AbortSignal): Promise<void> {
  const last: LastConnection = { isMeridian: false, failure: null };
  let lastReason = '';
  let late = 0;
  while (!signal.aborted) {
    const { reason, isForbidden, isRefused, isLate, waitMs } = await connectOnce(options, last, signal);
    if (signal.aborted) return;
    late = isLate ? Math.min(MAX_LATE, late + 1) : 0;
    if (isRefused) options.observe({ kind: 'turnedAway', peer: 'global', reason });
    if (reason !== lastReason) {
      if (isForbidden) options.log.error({ address: options.address }, reason);
      else options.log.warn({ address: options.address, reason }, 'not connected to global; trying again');
    }
    lastReason = reason;
    await options.clock.sleep(waitMs * 2 ** late, signal);
  }
}

/** Global refuses the caller: its token is not valid, or its store is not the store of the zone. */
const REFUSALS: readonly unknown[] = [status.UNAUTHENTICATED, status.FAILED_PRECONDITION];

/** @property isForbidden only a person can correct it @property isRefused global refuses the caller */
type Ending = {
  readonly reason: string;
  readonly isForbidden: boolean;
  readonly isRefused: boolean;
  /** Global accepts connections and cannot serve them. */
  readonly isLate: boolean;
  readonly waitMs: number;
};

/** @param hasTls whether the zone connects with TLS @param isFailing global answered the health check with an error, and the connection was short */
function endingOf(error: unknown, hasTls = true, isFailing = false): Ending {
  const { code, details } = error as { code?: unknown; details?: unknown };
  const waitMs = code === 'config' ? FILE_MS : REFUSALS.includes(code) ? REFUSED_MS : code === 'forbidden' ? FORBIDDEN_MS : null;
  const reason =
    REFUSALS.includes(code) && typeof details === 'string' ? `global refuses: ${details}` : connectionReason(error, hasTls);
  // A failure that a person corrects has a long pause already.
  const isLate = waitMs === null && (isFailing || code === status.DEADLINE_EXCEEDED);
  return {
    reason,
    isForbidden: waitMs !== null,
    isRefused: REFUSALS.includes(code),
    isLate,
    waitMs: waitMs ?? reconnectPauseMs(),
  };
}

/** A random pause, so that not all zones reconnect to a restarted global at once. @param random in [0, 1) */
export function reconnectPauseMs(random: () => number = Math.random): number {
  return MIN_PAUSE_MS + random() * (MAX_PAUSE_MS - MIN_PAUSE_MS);
}

/** The options of a connection. Rejects with `config` when a file cannot be used. */
async function identityOf({
  tls,
  authorization,
}: KdsClientOptions): Promise<{ credentials: ChannelCredentials; hasTls: boolean; authorization: string | null }> {
  const [known, value] = await Promise.all([typeof tls === 'function' ? tls() : tls, authorization?.() ?? null]);
  return { credentials: channelCredentials(known), hasTls: known !== null, authorization: value };
}

/** The options of the channel of one connection. */
export function channelOptions({ maxMessageBytes }: Pick<KdsClientOptions, 'maxMessageBytes'>): ChannelOptions {
  return {
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': maxMessageBytes,
    // Go peers punish pings more often than every 15 s.
    'grpc.keepalive_time_ms': 20_000,
    'grpc.keepalive_timeout_ms': 15_000,
    'grpc.keepalive_permit_without_calls': 1,
    // A new channel, so that no state of an earlier attempt remains.
    'grpc.use_local_subchannel_pool': 1,
  };
}

/**
 * @property isMeridian global was Meridian on the last stream; a failed health check may come from a proxy before global and does not
 *   tell
 * @property failure of the last health check that got an answer
 */
type LastConnection = { isMeridian: boolean; failure: string | null };

/** Runs one connection from dialling to its end. Resolves to the reason why it ended. */
async function connectOnce(options: KdsClientOptions, last: LastConnection, signal: AbortSignal): Promise<Ending> {
  const identity = await identityOf(options).catch((error: unknown) => endingOf(error));
  if ('reason' in identity) return identity;
  if (await isSilent(options.address, options.clock, signal)) return endingOf(new Error('ETIMEDOUT'), identity.hasTls);
  const client = new Client(options.address, identity.credentials, channelOptions(options));
  const ended = new AbortController();
  const both = AbortSignal.any([signal, ended.signal]);
  const connection = new Connection(options, client, both, identity.authorization);
  let disconnected = (): void => undefined;
  const began = options.clock.elapsed();
  let hasFailed = false;
  const isFailing = (): boolean => hasFailed && options.clock.elapsed() - began < SERVED_MS;
  try {
    const health = await connection.healthCheck();
    const isMeridian = health.isMeridian || last.isMeridian;
    const learned = health.isMeridian ? undefined : (said: boolean): void => void (last.isMeridian = said);
    hasFailed = health.failure !== null;
    logConnected(options, isMeridian, health.failure, last.failure);
    last.failure = health.failure;
    const ask: AskGlobal = (question, limitMs, askSignal) => connection.ask(question, limitMs, askSignal);
    disconnected = options.link?.connected({ isMeridian, ask }) ?? disconnected;
    await Promise.race([
      connection.receive(isMeridian, learned),
      connection.send(isMeridian),
      connection.keepChecking({ ...health, isMeridian }),
      connection.admin(),
      new Promise((resolve) => both.addEventListener('abort', resolve)),
    ]);
    return endingOf(new Error('global ended a stream'), identity.hasTls, isFailing());
  } catch (error) {
    return endingOf(error, identity.hasTls, isFailing());
  } finally {
    disconnected();
    ended.abort();
    connection.close();
    client.close();
  }
}

/** A failed health check is a warning, unless the last one failed with the same reason. */
function logConnected(
  { address, log }: KdsClientOptions,
  meridian: boolean,
  failure: string | null,
  lastFailure: string | null,
): void {
  const about = { address, meridian, ...(failure !== null && { healthCheck: failure }) };
  if (failure === null || failure === lastFailure) log.info(about, 'connected to global');
  else log.warn(about, 'connected to global, which answers the health check with an error');
}

function channelCredentials(tls: KdsClientTls | null): ChannelCredentials {
  if (tls === null) return credentials.createInsecure();
  const { rootCa, skipVerify, identity = null } = tls;
  return credentials.createSsl(rootCa, identity?.key ?? null, identity?.cert ?? null, { rejectUnauthorized: !skipVerify });
}
