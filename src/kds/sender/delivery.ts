// The state of a resource at a peer: the one model of the stream that sends it, of the receipts of changes, and of the answers to
// people.

/**
 * `acknowledged`, `refused`: the answer of the peer. `withheld`: this side cannot send it in a form that the peer reads. `sent`: the
 * answer is awaited. `pending`: not sent, or not acknowledged where it is unknown whether it was sent. `hidden`: it is not for this peer.
 * `away`: the peer has no stream to this process.
 */
export type DeliveryState = 'acknowledged' | 'refused' | 'withheld' | 'sent' | 'pending' | 'hidden' | 'away';

/** The states of a resource as a stream has it now. */
export type StateNow = Exclude<DeliveryState, 'sent' | 'away'>;

export type Delivery<S extends DeliveryState = DeliveryState> = {
  readonly state: S;
  /** The reason of a refused or withheld resource, and of one that the peer may not see. */
  readonly reason: string | null;
};

/** The state of a resource at a peer now. */
export type DeliveryNow = Delivery<StateNow> & {
  /**
   * For `acknowledged`, the peer has the resource since then at the latest. For `pending`, the change waits since then; null
   * before the peer has subscribed.
   */
  readonly since: Date | null;
};

/** The state of one change at a peer. */
export type DeliveryOfChange = Delivery & {
  /** The milliseconds from the commit; null if it was not sent, or not acknowledged, or the time is no longer kept. */
  readonly sentMs: number | null;
  readonly acknowledgedMs: number | null;
};
