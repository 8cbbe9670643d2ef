// The state of a proxy, updated by events. The most frequent events make no object: each change of a policy is sent to all proxies and
// accepted by all. Invariant: the state equals the result of `foldProxy` on the single events.
import type { XdsType } from '../ads/session-messages.ts';
import type { ProxyEvent } from '../ads/proxy-events.ts';
import type { RunningCounts } from '../subscriptions/response-counts.ts';
import { COUNTS, foldProxy, liveCounts, type ProxyState } from './dataplane-insight.ts';

export class CountedProxy {
  state: ProxyState;
  /** The state and the stream that were counted last, and the counts of that stream: the same event comes for each change. */
  #counted: { readonly state: ProxyState; readonly streamId: string; readonly counts: RunningCounts | null } | null = null;

  constructor(state: ProxyState) {
    this.state = state;
  }

  /**
   * Takes an event in.
   * @returns whether it says something new, and whether that is more than a count
   */
  take(event: ProxyEvent, instanceId: string, now: Date): 'nothing' | 'count' | 'news' {
    const before = this.state;
    this.state = foldProxy(before, event, instanceId, now);
    if (this.state === before) return 'nothing';
    const { troubles, tls, listens } = this.state;
    const isSaid = troubles !== before.troubles || tls !== before.tls || listens !== before.listens;
    const isNews = event.kind === 'opened' || event.kind === 'closed' || isSaid;
    return isNews ? 'news' : 'count';
  }

  /**
   * Takes an event `sent`, or an `accepted` of a proxy that refuses nothing.
   * @returns whether it says something new; null if `take` must take it, since it may say more than that
   */
  count(kind: 'sent' | 'accepted', type: XdsType, streamId: string, now: Date): boolean | null {
    const { state } = this;
    if (kind === 'accepted' && (state.troubles?.refused.length ?? 0) > 0) return null;
    if (this.#counted?.state !== state || this.#counted.streamId !== streamId)
      this.#counted = { state, streamId, counts: liveCounts(state, streamId) };
    const { counts } = this.#counted;
    counts?.add(type, COUNTS[kind], now);
    return counts !== null;
  }
}
