// The state of a proxy, with its most frequent events counted in place: each change of a policy is sent to all proxies and accepted
// by all. Invariant: the state is what `foldProxy` makes of the events one by one.
import { XDS_TYPES, type XdsType } from '../ads/session.ts';
import type { ProxyEvent } from '../ads/proxy-events.ts';
import { count, foldProxy, type ProxyState } from './dataplane-insight.ts';
import { isLive } from './proxy-subscription.ts';

/** What happened on one stream since the state was last read. */
type Tally = { readonly streamId: string; readonly sent: Counts; readonly accepted: Counts; at: Date };
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
    const { streamId, sent, accepted, at } = tally;
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
    if (this.#isCountAlone(event)) {
      const tally = this.#tallyOf(event.streamId, now);
      if (tally === null) return 'nothing';
      tally[event.kind][event.type] += 1;
      tally.at = now;
      return 'count';
    }
    const before = this.state;
    this.#state = foldProxy(before, event, instanceId, now);
    if (this.#state === before) return 'nothing';
    const { troubles, tls, listens } = this.#state;
    const isSaid = troubles !== before.troubles || tls !== before.tls || listens !== before.listens;
    const isNews = event.kind === 'opened' || event.kind === 'closed' || isSaid;
    return isNews ? 'news' : 'count';
  }

  /** Whether the troubles stay as they are. */
  #isCountAlone(event: ProxyEvent): event is Extract<ProxyEvent, { kind: 'sent' | 'accepted' }> {
    if (event.kind === 'sent') return true;
    return event.kind === 'accepted' && event.standing.length + (this.#state.troubles?.refused.length ?? 0) === 0;
  }

  /** Null where the stream is not open. */
  #tallyOf(streamId: string, now: Date): Tally | null {
    if (this.#tally?.streamId === streamId) return this.#tally;
    if (!this.state.subscriptions.some((one) => one.id === streamId && isLive(one))) return null;
    this.#tally = { streamId, sent: none(), accepted: none(), at: now };
    return this.#tally;
  }
}

function none(): Counts {
  return { Cluster: 0, ClusterLoadAssignment: 0, Secret: 0, Listener: 0, RouteConfiguration: 0 };
}
