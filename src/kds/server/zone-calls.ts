// The calls of a zone that are no streams: health checks, and questions. Each takes a permit of its address and is checked like a stream.
import type { ServerUnaryCall, sendUnaryData, UntypedHandleCall } from '@grpc/grpc-js';
import type { Connections } from '../../grpc/connections.ts';
import { isOwnFailure, statusOf } from '../../grpc/status.ts';
import { encodeHealthCheckResponse } from '../../wire/global-service-messages.ts';
import { feature } from '../protocol/features.ts';
import { ownFeatures, type Caller } from '../protocol/peer-metadata.ts';
import type { SyncObserver } from '../protocol/sync-events.ts';
import { answerNothing, ZoneQuestions, type AnswerZone } from './zone-questions.ts';
import type { ZoneStreams } from './zone-streams.ts';

type UnaryCall = ServerUnaryCall<Buffer, Buffer>;

export type ZoneCallsOptions = {
  readonly connections: Pick<Connections, 'permitOf'>;
  readonly streams: Pick<ZoneStreams, 'check' | 'logRefusal'>;
  readonly answerZone: AnswerZone | undefined;
  /** The milliseconds after which a zone checks again. */
  readonly healthInterval: number;
  readonly observe: SyncObserver;
  /** Aborts when the server closes. */
  readonly closing: AbortSignal;
};

export class ZoneCalls {
  readonly #options: ZoneCallsOptions;
  readonly #questions: ZoneQuestions;

  constructor(options: ZoneCallsOptions) {
    this.#options = options;
    this.#questions = new ZoneQuestions(options.answerZone ?? answerNothing);
  }

  /** The handler for the service of questions. */
  readonly ask = handlerOf((call) => this.#answerQuestion(call));

  /** The handler for the service of the global control plane. */
  readonly healthCheck = handlerOf((call) => this.#answerHealthCheck(call));

  async #answerHealthCheck(call: UnaryCall): Promise<Buffer> {
    const { zone } = await this.#check(call, 'healthCheck', () => {
      // Send this first: a zone that gets an error must also learn that this is Meridian, so that it resumes.
      call.sendMetadata(ownFeatures());
    });
    const { observe, healthInterval: intervalMs } = this.#options;
    observe({ kind: 'healthCheck', peer: zone });
    return encodeHealthCheckResponse({ intervalMs });
  }

  async #answerQuestion(call: UnaryCall): Promise<Buffer> {
    const { zone, features } = await this.#check(call, 'question');
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    const asker = { zone, hasHashedNames: features.includes(feature.hashSuffix) };
    return await this.#questions.answer(asker, call.request, AbortSignal.any([gone.signal, this.#options.closing]));
  }

  /**
   * Checks the caller in the permit of the call.
   * @param begin is called when the call has its permit
   * @throws MeridianError or StatusError for a caller that may open no stream; it is logged as the refusal of a call of this name
   */
  async #check(call: UnaryCall, name: string, begin = (): void => undefined): Promise<Caller> {
    const { connections, streams } = this.#options;
    const permit = connections.permitOf(call.getPeer());
    call.once('cancelled', () => permit.leave());
    try {
      await permit.take();
      begin();
      const caller = await streams.check(call.metadata);
      permit.giveBack();
      return caller;
    } catch (error) {
      if (isOwnFailure(error)) permit.giveBack();
      else permit.refuse();
      streams.logRefusal(call.metadata, name, error);
      throw error;
    }
  }
}

function handlerOf(answer: (call: UnaryCall) => Promise<Buffer>): UntypedHandleCall {
  return (call: UnaryCall, done: sendUnaryData<Buffer>) => {
    answer(call).then(
      (bytes) => done(null, bytes),
      (error: unknown) => done(statusOf(error)),
    );
  };
}
