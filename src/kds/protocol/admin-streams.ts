// Both ends of the admin streams, a call in reverse: the zone opens the stream, global asks on it for the configuration, statistics
// or clusters of a proxy, and the zone answers in any order (kds-wire 2.7). Only the newest stream of a zone and kind counts. A Meridian
// zone opens one stream for all kinds (decision 83).
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { within, type Clock } from '../../base/clock.ts';
import { MeridianError, messageOf } from '../../base/errors.ts';
import {
  decodeAdminRequest,
  decodeAdminResponse,
  encodeAdminRequest,
  encodeAdminResponse,
  type AdminRequest,
} from '../../wire/global-service-messages.ts';
import { messagesOf } from '../../grpc/messages-of.ts';
import { feature } from './features.ts';

export const adminKinds = ['configDump', 'stats', 'clusters'] as const;
export type AdminKind = (typeof adminKinds)[number];
/** The kind of a stream for all kinds. */
export const ONE_FOR_ALL: AdminKind = 'configDump';

/** Whether a zone with these features answers requests of every kind on its streams of this kind. */
export function carriesAllKinds(kind: string, features: readonly string[]): boolean {
  return kind === ONE_FOR_ALL && features.includes(feature.oneAdminStream);
}

export type AdminQuestion = Omit<AdminRequest, 'requestId' | 'resourceType' | 'kind'>;

/** The zone gives up after 10 s. A later message is not an answer. */
const ANSWER_MS = 12_000;

type Waiting = { readonly resolve: (payload: Uint8Array) => void; readonly reject: (error: unknown) => void };
type Open = { readonly stream: Duplex; readonly carriesAll: boolean; readonly waiting: Map<string, Waiting> };

export class AdminStreams {
  readonly #open = new Map<string, Open>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Reads the answers of a zone until it ends the stream.
   * @param carriesAll the zone answers requests of every kind on the stream
   * @throws MeridianError `bad_request` on an answer without a pending request: a zone answers once, and in time
   */
  async serve(zone: string, kind: AdminKind, stream: Duplex, carriesAll = false): Promise<void> {
    const open: Open = { stream, carriesAll, waiting: new Map() };
    const key = keyOf(zone, kind);
    this.#open.set(key, open);
    try {
      for await (const bytes of messagesOf(stream)) {
        const { requestId, error, payload } = decodeAdminResponse(bytes);
        const waiting = open.waiting.get(requestId);
        if (waiting === undefined)
          throw new MeridianError('bad_request', `no request ${JSON.stringify(requestId)} waits for an answer`);
        open.waiting.delete(requestId);
        if (error === undefined) waiting.resolve(payload ?? new Uint8Array());
        else waiting.reject(new MeridianError('invalid', error));
      }
    } finally {
      if (this.#open.get(key) === open) this.#open.delete(key);
      const gone = new MeridianError('unavailable', `zone ${JSON.stringify(zone)} disconnected before it answered`);
      for (const { reject } of open.waiting.values()) reject(gone);
    }
  }

  /** Returns true while a stream of the zone for such requests is open in this process. */
  has(zone: string, kind: AdminKind): boolean {
    return this.#openFor(zone, kind) !== undefined;
  }

  #openFor(zone: string, kind: AdminKind): Open | undefined {
    const forAll = this.#open.get(keyOf(zone, ONE_FOR_ALL));
    return forAll?.carriesAll === true ? forAll : this.#open.get(keyOf(zone, kind));
  }

  /**
   * The answer of a proxy of the zone.
   * @throws MeridianError `unavailable` when the zone has no stream here, ends it or does not answer; `invalid` with its own words
   */
  async ask(zone: string, kind: AdminKind, question: AdminQuestion): Promise<Uint8Array> {
    const open = this.#openFor(zone, kind);
    if (open === undefined)
      throw new MeridianError('unavailable', `zone ${JSON.stringify(zone)} has no ${kind} stream to this control plane`);
    const requestId = randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    open.waiting.set(requestId, { resolve, reject });
    const late = (): Error =>
      new MeridianError('unavailable', `zone ${JSON.stringify(zone)} did not answer in ${String(ANSWER_MS / 1000)} s`);
    const about = { requestId, resourceType: 'Dataplane', ...(open.carriesAll && { kind }) };
    open.stream.write(encodeAdminRequest({ ...about, ...question }));
    try {
      return await within(this.#clock, ANSWER_MS, promise, late);
    } finally {
      open.waiting.delete(requestId);
    }
  }
}

function keyOf(zone: string, kind: AdminKind): string {
  return `${kind} ${zone}`;
}

/** Asks a proxy of the zone. Rejects with a MeridianError that says why there is no answer. */
export type AnswerAdmin = (kind: AdminKind, question: AdminQuestion) => Promise<Uint8Array>;

/** The number of requests that wait for their proxies; more are refused. */
const MAX_ASKED = 16;

/** The end of a zone. Answers every request once, in any order. @param own the kind of the stream, for requests that name none */
export async function answerAdminRequests(call: Duplex, own: AdminKind, answer: AnswerAdmin): Promise<void> {
  let asked = 0;
  const handle = async ({ requestId, resourceType: _type, kind = own, ...question }: AdminRequest): Promise<void> => {
    asked += 1;
    const outcome = await answerOne(asked > MAX_ASKED, async () => answer(adminKind(kind), question));
    asked -= 1;
    if (!call.destroyed && !call.writableEnded) call.write(encodeAdminResponse({ requestId, ...outcome }));
  };
  for await (const bytes of messagesOf(call)) void handle(decodeAdminRequest(bytes));
}

/** @throws MeridianError `invalid` */
function adminKind(kind: string): AdminKind {
  const known = adminKinds.find((one) => one === kind);
  if (known === undefined)
    throw new MeridianError(
      'invalid',
      `this zone answers no request of the kind ${JSON.stringify(kind)}: ${adminKinds.join(', ')}`,
    );
  return known;
}

async function answerOne(isBusy: boolean, ask: () => Promise<Uint8Array>): Promise<{ error: string } | { payload: Uint8Array }> {
  if (isBusy) return { error: 'the zone is busy with other requests to proxies; try again' };
  try {
    return { payload: await ask() };
  } catch (error) {
    return { error: messageOf(error) };
  }
}
