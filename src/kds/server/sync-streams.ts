// The two sync streams of a zone on global: the sender of one and the receiver of the other, with what the streams of all zones share.
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Logger } from '../../base/log.ts';
import { RunQueue } from '../../base/run-queue.ts';
import { RateLimitedLogger } from '../../base/rate-limited-logger.ts';
import { FairScheduler } from '../admission/fair-scheduler.ts';
import { InitialSyncLimiter } from '../admission/initial-sync-limiter.ts';
import { waitsForFullState, type ZoneQuotas } from '../admission/quotas.ts';
import type { AdmissionQueue } from '../admission/admission-queue.ts';
import { insightSink, type InsightSinkOptions } from '../insights/insight-sink.ts';
import type { Changelog } from '../log/changelog.ts';
import { SharedMessages } from '../log/shared-messages.ts';
import { createOutbox, type Outbox } from '../protocol/bundles.ts';
import { feature } from '../protocol/features.ts';
import type { OwnNode } from '../protocol/node.ts';
import { globalReceiveRules } from '../protocol/rules.ts';
import type { SyncObserver } from '../protocol/sync-events.ts';
import type { ZoneRegistry } from '../protocol/zone-access.ts';
import { Receiver, type ReceiverOptions } from '../receiver/receiver.ts';
import type { OpenSenders } from '../sender/open-senders.ts';
import { Sender } from '../sender/sender.ts';
import { consume, serve } from '../session.ts';
import type { Stream } from './stream-life.ts';
import { slowToRefuse } from './zone-refusals.ts';
import { ZoneSenders } from './zone-senders.ts';

export type SyncStreamsOptions = {
  readonly maxMessageBytes: number;
  readonly quotas: ZoneQuotas;
  readonly entrance: Pick<AdmissionQueue, 'settled' | 'progress'>;
  readonly node: OwnNode;
  readonly changelog: Changelog;
  readonly zones: ZoneRegistry;
  readonly store: ReceiverOptions['store'];
  readonly fences?: ReceiverOptions['fences'];
  /** The limiter of the insights of proxies. Without it they are stored at once. */
  readonly insightLimiter?: InsightSinkOptions['limiter'];
  /** The parts of the state of proxies that are kept; the default is all. */
  readonly proxyInsights?: InsightSinkOptions['insights'];
  readonly validate: ReceiverOptions['validate'];
  readonly observe: SyncObserver;
  /** Gets the open streams that send. */
  readonly senders?: Pick<OpenSenders, 'add'>;
  readonly clock: Clock;
  readonly log: Logger;
};

export class SyncStreams {
  /** The senders of the zones that are connected. */
  readonly senders = new ZoneSenders();
  readonly #options: SyncStreamsOptions;
  readonly #initialSyncLimiter: InitialSyncLimiter;
  readonly #messages: SharedMessages;
  readonly #work = new FairScheduler();
  readonly #queue: RunQueue;
  readonly #responses = new KeyedMutex();
  readonly #delays: RateLimitedLogger;

  constructor(options: SyncStreamsOptions) {
    const { quotas, clock, log } = options;
    this.#options = options;
    this.#messages = new SharedMessages(clock);
    this.#queue = new RunQueue(clock);
    this.#delays = new RateLimitedLogger(log, () => clock.elapsed());
    this.#initialSyncLimiter = new InitialSyncLimiter(clock, {
      atOnce: quotas.fullStates,
      intervalMs: quotas.fullStateInterval,
    });
  }

  /** Sends to the zone until the stream ends. */
  async send({ call, zone, features, streamId, log, end }: Stream): Promise<void> {
    const stream = call as unknown as Duplex;
    const { changelog, zones, maxMessageBytes, entrance, observe, clock } = this.#options;
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
      queue: this.#queue,
      readsInStep: features.includes(feature.inStep),
      hasRoom: () => !stream.writableNeedDrain,
      fail: end,
      delayed: (waitMs) => {
        const reason = waitsForFullState(waitMs);
        observe({ kind: 'overQuota', peer: zone, quota: 'fullStates', reason });
        this.#delays.warn(zone, { zone, reason }, 'the full state of a zone waits');
      },
      answered: (isSettled) => (isSettled ? entrance.settled(zone) : entrance.progress(zone)),
      observe,
      log,
      clock,
    });
    const closed = [this.senders.add(zone, sender), this.#options.senders?.add(zone, sender)];
    try {
      await serve(stream, sender, this.#work.of(zone));
    } finally {
      for (const close of closed) close?.();
    }
  }

  /** Stores what the zone sends until the stream ends. */
  async receive({ call, zone, features, streamId, log, end }: Stream): Promise<void> {
    const { store, fences, node, maxMessageBytes, insightLimiter: limiter, proxyInsights: insights = 'all' } = this.#options;
    const { quotas, validate, observe, clock } = this.#options;
    const rules = globalReceiveRules(zone, { hashedNames: features.includes(feature.hashSuffix) });
    const resumes = features.includes(feature.meridian);
    const pace = this.#work.of(zone);
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
      sink: insightSink({ peer: zone, streamId, rules, pace, most: quotas.rows, resumes, insights, limiter, observe, clock }),
      quotas,
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
