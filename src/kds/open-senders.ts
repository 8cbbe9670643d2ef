// The streams of this process that send resources, by zone: what each zone has confirmed, for people. Replicas do not ask each other.
import type { ResourceKey } from '../resource/types.ts';
import type { Holding } from './subscription.ts';

/** Changes that a peer has not confirmed. `since`: when the oldest of them came. */
export type Lag = { readonly since: Date; readonly types: readonly string[] };

/**
 * What a peer has of one resource. `confirmed`: it has the last change, at the latest since then. `waiting`: it has not confirmed it,
 * since then; null before it has subscribed.
 */
export type Delivery =
  | { readonly kind: 'confirmed' | 'waiting'; readonly since: Date | null }
  | Exclude<Holding, { readonly kind: 'confirmed' } | { readonly kind: 'waiting' }>;

/** The state of the sync with zones that have a stream to this process; a zone knows only the one from itself to global. */
export interface SyncStates {
  /** Null if the zone has confirmed every change; undefined if it has no stream to this process. */
  lagOf(zone: string): Lag | null | undefined;
  /** Undefined if the zone has no stream to this process. Rejects with `unavailable` when the store does not answer. */
  deliveryOf(zone: string, row: ResourceKey): Promise<Delivery | undefined>;
}

/** Without any stream. */
export const noSyncStates: SyncStates = { lagOf: () => undefined, deliveryOf: async () => undefined };

type Answering = {
  lag(): Lag | null;
  deliveryOf(row: ResourceKey): Promise<Delivery>;
};

export class OpenSenders implements SyncStates {
  readonly #senders = new Map<string, Answering[]>();

  /** Call the result when the stream has ended. */
  add(zone: string, sender: Answering): () => void {
    const senders = this.#senders.get(zone) ?? [];
    this.#senders.set(zone, [...senders, sender]);
    return () => {
      const left = (this.#senders.get(zone) ?? []).filter((one) => one !== sender);
      if (left.length === 0) this.#senders.delete(zone);
      else this.#senders.set(zone, left);
    };
  }

  lagOf(zone: string): Lag | null | undefined {
    return this.#newest(zone)?.lag();
  }

  async deliveryOf(zone: string, row: ResourceKey): Promise<Delivery | undefined> {
    return await this.#newest(zone)?.deliveryOf(row);
  }

  #newest(zone: string): Answering | undefined {
    return this.#senders.get(zone)?.at(-1);
  }
}
