// The open streams of proxies: their admission, its rate, and the status with which a stream ends. Invariant: a caller that is not
// admitted holds memory for a bounded time.
import { randomUUID } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { MeridianError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { CallPermit } from '../grpc/call-permit.ts';
import type { Connections } from '../grpc/connections.ts';
import { StreamOpenRate, OPENINGS_A_SECOND } from '../grpc/stream-open-rate.ts';
import { RateLimitedLogger } from '../base/rate-limited-logger.ts';
import { canceled, exhausted, isOwnFailure, StatusError, statusOf } from '../grpc/status.ts';
import type { ProxyAuthenticator, ProxyToken } from '../token/proxy-authenticator.ts';
import { PERMITS_ALL, type ProxyDataplane, type ProxyPermit } from '../resource/proxy-permit.ts';
import type { TokenWatch } from '../token/token-watch.ts';
import type { ProxyStream, ServeProxy } from './proxy-stream.ts';
import type { RefusedProxies } from '../token/refused-proxies.ts';

type Call = ProxyStream['call'];

export type ProxyStreamsOptions = {
  readonly connections: Pick<Connections, 'permitOf'>;
  readonly authenticator: Pick<ProxyAuthenticator, 'authenticate' | 'identify'>;
  readonly watch: Pick<TokenWatch<ProxyToken>, 'watch'>;
  readonly serve: ServeProxy;
  /** Keeps the proxies that are not let in. */
  readonly refused: Pick<RefusedProxies, 'refused' | 'admitted'>;
  /** Milliseconds in which a proxy must be let in. */
  readonly admissionTimeout: number;
  readonly clock: Clock;
  readonly log: Logger;
};

/** Statuses of a proxy that a person must let in. */
const REFUSALS: ReadonlySet<status> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED, status.NOT_FOUND]);

const NO_STATE_OF_THE_WORLD =
  'state-of-the-world xDS is not served; set api_type: DELTA_GRPC in ads_config of the bootstrap, as the answer of POST /bootstrap has it';

export class ProxyStreams {
  readonly #options: ProxyStreamsOptions;
  readonly #streams = new Set<OpenStream>();
  readonly #openings: StreamOpenRate;
  readonly #refusals: RateLimitedLogger;

  constructor(options: ProxyStreamsOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#openings = new StreamOpenRate(() => clock.elapsed());
    this.#refusals = new RateLimitedLogger(log, () => clock.elapsed());
  }

  /** Handles a stream of delta xDS. */
  readonly open = (call: Call): void => {
    const permit = this.#options.connections.permitOf(call.getPeer());
    const stream = new OpenStream(call, permit, this.#options, this.#openings);
    this.#streams.add(stream);
    void stream.run().then((reason) => {
      this.#streams.delete(stream);
      stream.noteRefusal();
      if (stream.isAdmitted) return;
      if (stream.wasRefused) permit.refuse();
      else permit.giveBack();
      this.#logRefusal(stream.peer, reason);
    });
  };

  /** Handles a stream of state-of-the-world xDS: it is refused, with what to do. */
  readonly refuse = (call: Call): void => {
    const peer = call.getPeer();
    const permit = this.#options.connections.permitOf(peer);
    const error = new StatusError(status.UNIMPLEMENTED, NO_STATE_OF_THE_WORLD);
    call.once('cancelled', () => permit.leave());
    call.on('error', () => undefined);
    void permit
      .take()
      .catch((busy: unknown) => busy)
      .then((busy) => {
        permit.refuse();
        this.#logRefusal(peer, error.details);
        if (!call.destroyed && !call.cancelled) call.emit('error', busy ?? error);
      });
  };

  /** Ends every stream with the status of this error. */
  close(error: MeridianError): void {
    for (const stream of this.#streams) stream.end(error);
  }

  /** How many are open. */
  get size(): number {
    return this.#streams.size;
  }

  /** Logs once a minute for each reason: a refused proxy tries again for ever. */
  #logRefusal(peer: string, reason: string | null): void {
    this.#refusals.warn(reason ?? '', { peer, ...(reason !== null && { reason }) }, 'a proxy was not let in');
  }
}

class OpenStream implements ProxyStream {
  readonly id = randomUUID();
  readonly peer: string;
  readonly call: Call;
  isAdmitted = false;
  readonly #permit: CallPermit;
  /** Made when it is asked for. */
  #log: Logger | null = null;
  readonly #options: ProxyStreamsOptions;
  readonly #openings: StreamOpenRate;
  #ended: unknown = null;
  /** The Dataplane that it names; null before its first request. */
  #proxy: { readonly mesh: string; readonly name: string } | null = null;
  #hasGoodToken = false;
  /** Ends the time in which it must be let in. */
  #stopWaiting: (() => void) | null = null;
  #unwatch: (() => void) | null = null;

  constructor(call: Call, permit: CallPermit, options: ProxyStreamsOptions, openings: StreamOpenRate) {
    this.call = call;
    this.#permit = permit;
    this.peer = call.getPeer();
    this.#options = options;
    this.#openings = openings;
    call.once('cancelled', () => permit.leave());
    call.on('error', () => undefined);
  }

  get log(): Logger {
    return (this.#log ??= this.#options.log.child({ peer: this.peer }));
  }

  /** This process refused it because of the proxy. A proxy that has left was not refused: its stream ends with an error of Node. */
  get wasRefused(): boolean {
    const hasLeft = this.call.cancelled && !(this.#ended instanceof StatusError || this.#ended instanceof MeridianError);
    return !this.isAdmitted && this.#ended !== null && !hasLeft && !isOwnFailure(this.#ended);
  }

  /** Keeps a proxy whose stream ended because of its token or its Dataplane. An admitted one may have lost its right, too. */
  noteRefusal(): void {
    const ended = this.#ended;
    if (this.#proxy === null || !(ended instanceof StatusError) || !REFUSALS.has(ended.code)) return;
    this.#options.refused.refused(this.#proxy, ended.details, this.#hasGoodToken);
  }

  /** Resolves when it has ended, with the reason; null where it ended as it should. Never rejects. */
  async run(): Promise<string | null> {
    const { serve, admissionTimeout, clock } = this.#options;
    try {
      await this.#permit.take();
      this.#stopWaiting = clock.after(admissionTimeout, () =>
        this.end(new StatusError(status.DEADLINE_EXCEEDED, 'the proxy did not identify itself in time')),
      );
      if (this.#ended === null && !this.call.cancelled) await serve(this);
      this.call.end();
      if (this.isAdmitted) this.log.info('stream closed');
      return this.#ended === null ? null : messageOf(this.#ended);
    } catch (error) {
      this.end(error);
      const reason = messageOf(this.#ended);
      if (this.isAdmitted) this.log.info({ reason }, 'stream closed');
      return reason;
    } finally {
      this.#stopWaiting?.();
      this.#unwatch?.();
    }
  }

  readonly identify = async (dataplane: Pick<ProxyDataplane, 'mesh' | 'name'>): Promise<void> => {
    this.#proxy = dataplane;
    const outcome = await this.#options.authenticator.identify(this.#authorization(), dataplane);
    this.#hasGoodToken = outcome.ok || outcome.code === 'forbidden';
    if (!outcome.ok) throw refusal(outcome);
  };

  readonly admit = async (...dataplanes: [ProxyDataplane, ...ProxyDataplane[]]): Promise<ProxyPermit> => {
    const { authenticator, watch } = this.#options;
    const authorization = this.#authorization();
    const [{ mesh, name }] = dataplanes;
    this.#proxy = { mesh, name };
    let token: ProxyToken | null = null;
    let permit = PERMITS_ALL;
    for (const dataplane of dataplanes) {
      const outcome = await authenticator.authenticate(authorization, dataplane);
      this.#hasGoodToken = outcome.ok || outcome.code === 'forbidden';
      if (!outcome.ok) throw refusal(outcome);
      ({ token, permit } = outcome);
    }
    await this.#waitToOpen(JSON.stringify([mesh, name]));
    this.#requireOpen();
    const isLost = (reason: string): void => this.end(new StatusError(status.UNAUTHENTICATED, reason));
    if (token !== null) this.#unwatch = watch.watch(token, isLost);
    this.isAdmitted = true;
    this.#options.refused.admitted({ mesh, name });
    this.#stopWaiting?.();
    this.#stopWaiting = null;
    this.#permit.admit();
    this.#log = this.#options.log.child({ mesh, dataplane: name });
    this.log.info('stream opened');
    return permit;
  };

  readonly end = (error: unknown): void => {
    if (this.#ended !== null) return;
    this.#ended = error;
    if (!this.call.destroyed && !this.call.cancelled) this.call.emit('error', statusOf(error));
  };

  #authorization(): string[] {
    return this.call.metadata.get('authorization').map((value) => value.toString());
  }

  /** Resolves when the proxy has not opened too many streams lately. */
  async #waitToOpen(proxy: string): Promise<void> {
    const wait = this.#openings.take(proxy);
    if (wait === null)
      throw exhausted(
        `the proxy opens streams too often: ${String(OPENINGS_A_SECOND)} a second are admitted; find out why they end`,
      );
    if (wait > 0) await this.#options.clock.sleep(wait, undefined, { ref: false });
  }

  #requireOpen(): void {
    if (this.#ended !== null) throw statusOf(this.#ended);
    if (this.call.cancelled) throw canceled('the proxy ended the stream');
  }
}

function refusal({ code, reason }: { readonly code: 'unauthenticated' | 'forbidden'; readonly reason: string }): StatusError {
  return new StatusError(code === 'forbidden' ? status.PERMISSION_DENIED : status.UNAUTHENTICATED, reason);
}
