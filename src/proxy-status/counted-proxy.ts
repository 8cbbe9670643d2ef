// The state of a proxy, with its most frequent events counted in place: each change of a policy is sent to all proxies and accepted
// by all. Invariant: the state is what `foldProxy` makes of the events one by one.
import { XDS_TYPES, type XdsType } from '../ads/session-messages.ts';
import type { ProxyEvent } from '../ads/proxy-events.ts';
import { count, foldProxy, type ProxyState } from './dataplane-insight.ts';
import { isLive } from './proxy-subscription.ts';

/** What happened on one stream since the state was last read. */
type Tally = {
  readonly streamId: string;
  readonly sent: Counts;
  readonly accepted: Counts;
  /** When the last of it happened, in milliseconds of the date. */
  at: number;
};
type Counts = Record<XdsType, number>;

export class CountedProxy {
  #state: ProxyState;
  #tally: Tally | null = null;

  constructor(state: ProxyState) {
    this.#state = state;
  }

  get state(): ProxyState {
    const tally = this.#tally;
    if (tally === null) return this.#state;
    this.#tally = null;
    const { streamId, sent, accepted } = tally;
    const at = new Date(tally.at);
    for (const type of XDS_TYPES) {
      if (sent[type] > 0) this.#state = count(this.#state, { streamId, type }, 'sent', at, sent[type]);
      if (accepted[type] > 0) this.#state = count(this.#state, { streamId, type }, 'acknowledged', at, accepted[type]);
    }
    return this.#state;
  }

  set state(state: ProxyState) {
    this.#tally = null;
    this.#state = state;
  }

  /**
   * Takes an event in.
   * @returns whether it says something new, and whether that is more than a count
   */
  take(event: ProxyEvent, instanceId: string, now: Date): 'nothing' | 'count' | 'news' {
    if (this.#isCountAlone(event))
      return this.#count(event.kind, event.type, event.streamId, now.getTime()) ? 'count' : 'nothing';
    const before = this.state;
    this.#state = foldProxy(before, event, instanceId, now);
    if (this.#state === before) return 'nothing';
    const { troubles, tls, listens } = this.#state;
    const isSaid = troubles !== before.troubles || tls !== before.tls || listens !== before.listens;
    const isNews = event.kind === 'opened' || event.kind === 'closed' || isSaid;
    return isNews ? 'news' : 'count';
  }

  /**
   * Takes an event `sent`, or an `accepted` of a proxy that refuses nothing.
   * @param at milliseconds of the date
   * @returns whether it says something new; null: `take` must take it, since it may say more than that
   */
  count(kind: 'sent' | 'accepted', type: XdsType, streamId: string, at: number): boolean | null {
    if (kind === 'accepted' && this.#hasRefusals) return null;
    return this.#count(kind, type, streamId, at);
  }

  #count(kind: 'sent' | 'accepted', type: XdsType, streamId: string, at: number): boolean {
    const tally = this.#tallyOf(streamId, at);
    if (tally === null) return false;
    tally[kind][type] += 1;
    tally.at = at;
    return true;
  }

  get #hasRefusals(): boolean {
    const { troubles } = this.#state;
    return troubles !== null && troubles.refused.length > 0;
  }

  /** Whether the troubles stay as they are. */
  #isCountAlone(event: ProxyEvent): event is Extract<ProxyEvent, { kind: 'sent' | 'accepted' }> {
    if (event.kind === 'sent') return true;
    return event.kind === 'accepted' && event.standing.length === 0 && !this.#hasRefusals;
  }

  /** Null where the stream is not open. */
  #tallyOf(streamId: string, at: number): Tally | null {
    if (this.#tally?.streamId === streamId) return this.#tally;
    if (!this.state.subscriptions.some((one) => one.id === streamId && isLive(one))) return null;
    this.#tally = { streamId, sent: none(), accepted: none(), at };
    return this.#tally;
  }
}

function none(): Counts {
  return { Cluster: 0, ClusterLoadAssignment: 0, Secret: 0, Listener: 0, RouteConfiguration: 0 };
}
