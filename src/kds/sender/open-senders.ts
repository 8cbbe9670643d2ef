// The streams of this process that send resources, by zone: what each zone has confirmed, for people. `src/receipts` asks other
// replicas about their streams.
import type { ResourceKey } from '../../resource/types.ts';
import type { DeliveryNow } from './delivery.ts';

/** Changes that a peer has not confirmed. `since` is the time of the oldest. */
export type Lag = { readonly since: Date; readonly types: readonly string[] };

/**
 * The lag of a zone by its stream to this process: null if it has confirmed every change; undefined without a stream; `alone` in a zone that
 * has no global, and so nothing to confirm.
 */
export type LiveLag = Lag | null | undefined | 'alone';

/** Whether changes wait for the zone. */
export function isBehind(lag: LiveLag): lag is Lag {
  return typeof lag === 'object' && lag !== null;
}

/** The progress of a peer with one type. */
export type TypeProgress = {
  readonly type: string;
  /** The number of resources that it has not confirmed, at most `MAX_BEHIND`. */
  readonly behind: number;
  /** The time of the oldest of them. */
  readonly since: Date | null;
  /** The time of its last confirmation; null before it has confirmed something on this stream. */
  readonly confirmedAt: Date | null;
  readonly refused: number;
  readonly withheld: number;
};

/**
 * A type of which something was sent, with the milliseconds since the oldest response that the peer has not accepted; 0 when in
 * step.
 */
export type Unaccepted = { readonly type: string; readonly ms: number };

/** The count for a peer ends at this number of resources. */
export const MAX_BEHIND = 1_000;

/** The state of the sync with zones that have a stream to this process; a zone knows only the one from itself to global. */
export interface SyncStates {
  lagOf(zone: string): LiveLag;
  /**
   * Resolves to undefined if the zone has no stream to this process. Rejects with `unavailable` when the store does not answer.
   */
  deliveryOf(zone: string, row: ResourceKey): Promise<DeliveryNow | undefined>;
  /** The state of many rows: first wait for `caughtUp`, then ask without a wait. */
  deliveryNow(zone: string, row: ResourceKey): DeliveryNow | undefined;
  /** Settles when every change that is committed now is in the log. Rejects with `unavailable` when the store does not answer. */
  caughtUp(): Promise<void>;
}

/** The answers without any stream. */
export const noSyncStates: SyncStates = {
  lagOf: () => undefined,
  deliveryOf: async () => undefined,
  deliveryNow: () => undefined,
  caughtUp: async () => undefined,
};

type Answering = {
  lag(): Lag | null;
  unaccepted(): Iterable<Unaccepted>;
  ready(): Promise<void>;
  deliveryNow(row: ResourceKey): DeliveryNow;
  progress(): readonly TypeProgress[];
  /** The capabilities of the peer; null before it has said them. */
  readonly features: ReadonlySet<string> | null;
};

export class OpenSenders implements SyncStates {
  readonly #senders = new Map<string, Answering[]>();
  readonly #isAlone: boolean;

  /** @param isAlone whether this is a zone without a global */
  constructor({ isAlone = false }: { isAlone?: boolean } = {}) {
    this.#isAlone = isAlone;
  }

  /** Adds a stream. Call the result when it has ended. */
  add(zone: string, sender: Answering): () => void {
    const senders = this.#senders.get(zone) ?? [];
    this.#senders.set(zone, [...senders, sender]);
    return () => {
      const left = (this.#senders.get(zone) ?? []).filter((one) => one !== sender);
      if (left.length === 0) this.#senders.delete(zone);
      else this.#senders.set(zone, left);
    };
  }

  /** The zones with a stream to this process. */
  zones(): readonly string[] {
    return [...this.#senders.keys()];
  }

  lagOf(zone: string): LiveLag {
    return this.#isAlone ? 'alone' : this.#newest(zone)?.lag();
  }

  /** The unaccepted responses of the newest stream of each zone. */
  *unaccepted(): Iterable<Unaccepted & { readonly zone: string }> {
    for (const [zone, senders] of this.#senders) for (const one of senders.at(-1)?.unaccepted() ?? []) yield { zone, ...one };
  }

  async deliveryOf(zone: string, row: ResourceKey): Promise<DeliveryNow | undefined> {
    const sender = this.#newest(zone);
    await sender?.ready();
    return sender?.deliveryNow(row);
  }

  deliveryNow(zone: string, row: ResourceKey): DeliveryNow | undefined {
    return this.#newest(zone)?.deliveryNow(row);
  }

  async caughtUp(): Promise<void> {
    // All senders read one log.
    const [senders] = this.#senders.values();
    await senders?.at(-1)?.ready();
  }

  /** The progress of the zone with each type, by name of the type; undefined if the zone has no stream to this process. */
  progressOf(zone: string): readonly TypeProgress[] | undefined {
    return this.#newest(zone)?.progress();
  }

  /** The capabilities of a zone; null before it has said them, undefined if it has no stream to this process. */
  featuresOf(zone: string): ReadonlySet<string> | null | undefined {
    return this.#newest(zone)?.features;
  }

  #newest(zone: string): Answering | undefined {
    return this.#senders.get(zone)?.at(-1);
  }
}
