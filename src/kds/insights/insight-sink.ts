// The sink of a receiver of global: insights of proxies are stored at a limited rate, or counted (decision 84), and everything else is
// stored at once. The receiver does not know the types of proxies.
import type { Clock } from '../../base/clock.ts';
import type { TypeInfo } from '../../resource/type-registry.ts';
import type { Work } from '../receiver/diff-response.ts';
import type { Kept } from '../receiver/peer-rows.ts';
import type { AwaitsFullState, ResourceSink, SinkOwner } from '../receiver/resource-sink.ts';
import type { NackedResource } from '../protocol/nack.ts';
import type { Pace } from '../protocol/pace.ts';
import type { ReceiveRules } from '../protocol/rules.ts';
import type { SyncObserver } from '../protocol/sync-events.ts';
import { CountedProxies } from './counted-proxies.ts';
import type { InsightRateLimiter } from './insight-rate-limiter.ts';
import { InsightsOfStream } from './insights-of-stream.ts';
import { INSIGHT_TYPE } from './proxy-counts.ts';
import { ProxyReports } from './proxy-reports.ts';

export type InsightSinkOptions = {
  readonly peer: string;
  readonly streamId: string;
  readonly rules: ReceiveRules;
  readonly pace: Pick<Pace, 'run'>;
  /** The number of proxies of the peer that are counted. */
  readonly most: number;
  /** The peer sends differences, and answers a new subscription with one. */
  readonly resumes: boolean;
  /** With `counts`, insights are counted and not stored. */
  readonly insights: 'all' | 'counts';
  /** The limiter that decides when insights are stored. Without it they are stored at once. */
  readonly limiter?: Pick<InsightRateLimiter, 'admits' | 'count' | 'wait'> | undefined;
  readonly observe: SyncObserver;
  readonly clock: Pick<Clock, 'after'>;
};

/** Returns a function that makes the sink of a receiver. */
export function insightSink(options: InsightSinkOptions): (owner: SinkOwner) => ResourceSink {
  return (owner) => new InsightSink(options, owner);
}

class InsightSink implements ResourceSink {
  /** It is null if insights are stored. */
  readonly #proxies: CountedProxies | null;
  readonly #store: Pick<ResourceSink, 'keep'>;
  readonly #reports: ProxyReports;
  /** It is null if insights are stored at once. */
  readonly #insights: InsightsOfStream | null;

  constructor(options: InsightSinkOptions, { rows, subscribeAgain }: SinkOwner) {
    const { peer, streamId, rules, pace, most, resumes, insights, limiter, observe, clock } = options;
    this.#proxies = insights === 'counts' ? new CountedProxies({ rules, rows, pace, most, resumes }) : null;
    this.#store = this.#proxies ?? rows;
    this.#reports = new ProxyReports({
      proxies: this.#proxies,
      rows,
      report: (groups, replacesRows) => observe({ kind: 'counted', peer, streamId, epoch: rows.epoch, groups, replacesRows }),
    });
    const canAskAgain = resumes && this.#proxies === null;
    const askAgain = (): void => subscribeAgain(INSIGHT_TYPE);
    this.#insights =
      limiter === undefined ? null : new InsightsOfStream({ limiter, canAskAgain, isImpatient: resumes, askAgain, clock });
  }

  /** Insights that are counted are in memory alone. */
  needsFullState(type: string): boolean {
    return this.#proxies !== null && type === INSIGHT_TYPE;
  }

  admits(type: string, resources: number, isFullState: boolean): boolean {
    return type !== INSIGHT_TYPE || this.#insights === null || this.#insights.admits(resources, isFullState);
  }

  async keep(info: TypeInfo, work: Work, refusedBefore: readonly NackedResource[]): Promise<Kept> {
    return await this.#store.keep(info, work, refusedBefore);
  }

  answer(type: string, written: number, send: () => void): void {
    if (type === INSIGHT_TYPE && this.#insights !== null) this.#insights.stored(written, send);
    else send();
  }

  async kept(type: string, awaits: AwaitsFullState): Promise<void> {
    await this.#reports.kept(type, awaits);
  }

  async inStep(type: string, awaits: AwaitsFullState): Promise<void> {
    if (type === INSIGHT_TYPE) this.#insights?.unchanged();
    await this.#reports.kept(type, awaits);
  }

  close(): void {
    this.#insights?.close();
  }
}
